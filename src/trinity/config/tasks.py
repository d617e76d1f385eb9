"""Sections of params.yaml: where questions come from, how answers are graded, where code runs."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from trinity.config.values import Count, Name, Section, distinct


class OutcomeTable(Section):
    """A table of real models' outcomes used as a task (spec item: recorded pool)."""

    path: str
    kinds: list[str] | None = None


class Caps(Section):
    """At most this many items of a task's splits; null takes all."""

    train: Count | None
    valid: Count | None
    test: Count | None


class Data(Section):
    """Where questions come from and how many are used.

    Attributes:
        n_train: At most this many training items of every task; null takes all. Likewise n_valid, n_test.
        caps: By task, at most this many items; the lower of both counts.
        source: By task, a local file or folder in place of the pinned download.
        revision: By task, the commit of the download in place of the one that its loader pins.
        decontaminate: Tasks whose test questions are taken out of every training set.
    """

    seed: int
    n_train: Count | None = None
    n_valid: Count | None = None
    n_test: Count | None = None
    caps: dict[Name, Caps]
    outcomes: dict[Name, OutcomeTable]
    source: dict[Name, str]
    revision: dict[Name, Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]]
    decontaminate: Annotated[list[Name], AfterValidator(distinct)]


class Grading(Section):
    """How answers are graded (docs/grading.md).

    Attributes:
        mode: robust: the right verdict; official: the verdict that papers report.
        judge: The agent of the pool that rates MT-Bench answers.
    """

    mode: Literal["robust", "official"]
    judge: Name | None = None


class Sandbox(Section):
    """Where code from a model runs, and what one run may take (docs/sandbox.md).

    Attributes:
        levels: Tried in this order; `unsafe` has limits and no walls, and is taken only where it is named.
        cpu_seconds: Of one test.
        wall_seconds: Of one test: ends waiting, and decides nothing on a machine that is not overloaded.
        memory_mb: Address space of one process.
        processes: At once, threads among them.
        file_mb: Of one file, standard output among them.
        workers: Runs at once.
        bigcodebench_python: An interpreter with the libraries that BigCodeBench pins; null refuses its items.
    """

    levels: Annotated[list[Literal["bwrap", "landlock", "unsafe"]], Field(min_length=1), AfterValidator(distinct)]
    cpu_seconds: Count
    wall_seconds: Count
    memory_mb: Annotated[int, Field(ge=64)]
    processes: Count
    file_mb: Count
    workers: Count
    bigcodebench_python: str | None = None
