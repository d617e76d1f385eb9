"""Measurements of speed: each `measure` times one thing and its rival in the same run."""
