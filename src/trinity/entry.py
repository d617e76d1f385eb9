"""How every stage and command ends: a user's mistake is its message on stderr and exit code 1, without a traceback."""

import sys
from collections.abc import Callable

from trinity.errors import TrinityError


def run_main(main: Callable[[], None]) -> None:
    """Runs a main function; a `TrinityError` is printed on stderr and ends the process with exit code 1."""
    try:
        main()
    except TrinityError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
