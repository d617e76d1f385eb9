"""Benchmarks: one file each, on one base."""
