"""Public collections of real models' outcomes, converted to outcome tables (docs/recorded.md)."""

from trinity.tasks.importers.convert import FORMS, ImportReport, import_outcomes

__all__ = ["FORMS", "ImportReport", "import_outcomes"]
