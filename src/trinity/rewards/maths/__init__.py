"""Maths: where a reply states its answer, and whether that is the reference."""
