"""The embedded demo: four generated tasks, one of each reward kind."""
