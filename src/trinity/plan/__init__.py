"""What a pipeline will ask of its pool, and what that costs, before it is paid (docs/plan.md)."""
