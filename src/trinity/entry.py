"""How every stage and command ends: a user's mistake is its message on stderr and exit code 1, without a traceback."""

import os
import sys
from collections.abc import Callable

from trinity.errors import TrinityError


def run_main(main: Callable[[], None]) -> None:
    """Runs a main function; a `TrinityError` is printed on stderr and ends the process with exit code 1.

    What the operating system refuses is one line with the file and its reason. An interrupt, and a reader that closes
    the pipe early (`| head`), end it without a traceback too.
    """
    try:
        main()
    except TrinityError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        print(f"{error.filename or 'system'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
