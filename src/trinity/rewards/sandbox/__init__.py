"""Where code from a model runs: shut in, limited, and judged by what it cannot reach."""
