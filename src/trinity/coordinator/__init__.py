"""The coordinator: encoder, singular-value scales, head, policy."""
