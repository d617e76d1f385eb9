"""Inside: a program under a unittest module, as BigCodeBench runs it.

One interpreter for both, since the tests patch what the program imports: so the program can reach the tests. What shows
whether it did: among the tests stand others (controls) with outcomes that are drawn anew for each run and known only
outside. A comparison that was patched to agree, an outcome that was forged, a test that was taken away change what is
reported.
"""

from __future__ import annotations

import json
import os
import sys
import types
import unittest
from collections.abc import Mapping
from typing import Any

from trinity.rewards.forked import begin, finish
from trinity.rewards.sandbox.program import described

MODULE = "__test__"  # as BigCodeBench's runner calls it


def run_unittest(task: Mapping[str, Any]) -> None:
    """The result is a JSON object: by test, `ok` or what went wrong; or one line saying why there is none."""
    clean = _Outcomes  # bound before the program can touch anything
    os.environ.update(task["environment"])
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    module.__dict__["__file__"] = f"{MODULE}.py"
    begin()
    try:
        for part in ("program", "tests", "controls"):
            exec(compile(task[part], f"<{part}>", "exec"), module.__dict__)  # noqa: S102 (what this process is for)
        outcomes = clean()
        suite = unittest.TestSuite()
        for name in task["cases"]:
            suite.addTests(unittest.TestLoader().loadTestsFromTestCase(getattr(module, name)))
        suite.run(outcomes)
        result = json.dumps(outcomes.by_test).encode()
    except BaseException as error:
        result = described(error)
    finish(result)


class _Outcomes(unittest.TestResult):
    """What became of each test, by `Case.method`."""

    def __init__(self) -> None:
        super().__init__()
        self.by_test: dict[str, str] = {}

    def _note(self, test: unittest.TestCase, outcome: str) -> None:
        name = ".".join(test.id().split(".")[-2:])
        if self.by_test.get(name, "ok") == "ok":
            self.by_test[name] = outcome

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._note(test, "ok")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._note(test, f"failed: {err[1]}"[:300])

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self._note(test, f"{err[0].__name__}: {err[1]}"[:300])

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._note(test, "skipped")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._note(test, "skipped")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self._note(test, "unexpected success")

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None:
            self._note(test, f"{err[0].__name__}: {err[1]}"[:300])
