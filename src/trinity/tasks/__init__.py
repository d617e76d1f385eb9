"""Tasks: where questions come from and how they are split."""
