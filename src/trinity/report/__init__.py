"""Statistics, tables and figures of a run."""
