"""TRINITY: an evolved coordinator that picks, turn by turn, which LLM of a pool answers and in which role."""
