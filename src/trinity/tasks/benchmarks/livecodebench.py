"""LiveCodeBench: contest problems by date of release (arXiv 2403.07974); spec section 6.1 trains on V1, tests on V6."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trinity.errors import DataError
from trinity.rewards.code import pack_tests
from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.program_tests import read_tests
from trinity.tasks.benchmarks.programs import PROGRAM_FORM
from trinity.tasks.fields import text, text_or_whole, texts
from trinity.tasks.files import is_data_file
from trinity.tasks.source import Hub, Rows, read_rows

V1_IDS, V6_IDS = "v1_question_ids.json", "v6_question_ids.json"
ROWS = {"train": 400, "test": 175}

_FUNCTION = "The program must complete this starter code:\n\n```python\n{starter}\n```"
_SCRIPT = (
    "The program must read the input from standard input, solve the problem, and write the answer to standard output; "
    "it is not run on the examples alone."
)
# The official ERRATA.md; problems of LeetCode are known there by their title.
ERRATA: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "abc311_c",
            "abc326_d",
            "abc327_b",
            "abc333_e",
            "abc343_a",
            "abc343_e",
            "abc362_c",
            "arc185_c",
            "find-words-containing-character",
            "find-the-peaks",
            "generate-binary-strings-without-adjacent-zeros",
        ),
        "several outputs are right",
    ),
    **dict.fromkeys(("abc337_e", "abc355_e"), "interactive"),
    **dict.fromkeys(
        ("abc350_c", "arc189_a", "apply-operations-to-make-string-empty", "most-frequent-ids"), "wrong tests"
    ),
}


class LiveCodeBench(Benchmark):
    """V1 (400 problems, 80/20 train and valid) and those new in V6 (175, test), never told apart by date.

    By release file, test.jsonl and test6.jsonl; or, in a local folder with `V1_IDS` and `V6_IDS` (each a JSON list) and
    one data file, by question id. Both counts are asserted. Problems with known faults stay in and carry
    `extra["erratum"]`.
    """

    name = "livecodebench"
    reward = "code"
    hub = Hub(
        repository="livecodebench/code_generation_lite",
        revision="0fe84c3912ea0c4d4a78037083943e8f0c4dd505",
        files={"train": ("test.jsonl",), "test": ("test6.jsonl",)},
        rows=ROWS,
    )

    def rows(self) -> Rows:
        """See `Benchmark.rows`.

        Raises:
            DataError: also when a split has not as many rows as the release.
        """
        local = self._data.source.get(self.name)
        by_id = local is not None and all((Path(local) / name).is_file() for name in (V1_IDS, V6_IDS))
        rows = self._by_id(Path(local)) if local and by_id else read_rows(self.name, self.hub, self._data)
        sizes = {split: len(located) for split, located in rows.by_split.items()}
        if sizes != ROWS:
            found = ", ".join(f"{split} {size}" for split, size in sizes.items())
            raise DataError(
                f"task {self.name}: found {found}; needed are the 400 problems of V1 and the 175 new in V6: a folder "
                f"with the release's test.jsonl and test6.jsonl, or with {V1_IDS}, {V6_IDS} and a file of all problems"
            )
        return rows

    def question(self, row: Mapping[str, Any], where: str) -> Question:
        """Fields question_id, question_title, question_content, starter_code, difficulty, and those of `read_tests`."""
        identity, title = text_or_whole(row, "question_id", where), text(row, "question_title", where)
        stem = text(row, "question_content", where)
        starter = row.get("starter_code") or ""
        asked = _FUNCTION.format(starter=text(row, "starter_code", where).strip()) if starter else _SCRIPT
        reference = read_tests(row, where)
        if (reference["function"] is None) != (not starter):
            raise DataError(f"{where}: starter_code and the func_name of metadata: one is there without the other")
        extra = {"title": title}
        erratum = ERRATA.get(identity, ERRATA.get(title))
        if erratum is not None:
            extra["erratum"] = erratum
        return Question(
            stem=stem,
            prompt=f"{stem.strip()}\n\n{asked}\n\n{PROGRAM_FORM}",
            reference={**reference, "tests": pack_tests(reference["tests"])},
            domain=text(row, "difficulty", where),
            id=identity,
            extra=extra,
        )

    def _by_id(self, folder: Path) -> Rows:
        others = [path for path in sorted(folder.iterdir()) if is_data_file(path) and path.name not in (V1_IDS, V6_IDS)]
        if len(others) != 1:
            names = ", ".join(path.name for path in others) or "none"
            raise DataError(f"{folder}: needs one file of problems beside {V1_IDS} and {V6_IDS}, found {names}")
        source = {**self._data.source, self.name: str(others[0])}
        rows = read_rows(self.name, self.hub, self._data.model_copy(update={"source": source}))
        (located,) = rows.by_split.values()
        split_of = dict.fromkeys(_ids(folder / V1_IDS), "train")
        for identity in _ids(folder / V6_IDS):
            if identity in split_of:
                raise DataError(f"{folder / V6_IDS}: {identity} stands in {V1_IDS} too")
            split_of[identity] = "test"
        by_split: dict[str, list[tuple[str, Mapping[str, Any]]]] = {"train": [], "test": []}
        for where, row in located:
            split = split_of.get(text_or_whole(row, "question_id", where))
            if split is not None:
                by_split[split].append((where, row))
        chosen = {split: tuple(of_split) for split, of_split in by_split.items()}
        return Rows(chosen, {**rows.provenance, "chosen_by": [V1_IDS, V6_IDS]})


def _ids(path: Path) -> list[str]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not a JSON list of question ids: {error}") from None
    return texts({"ids": content}, "ids", str(path))
