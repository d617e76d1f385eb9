"""The inner loop: episodes, one and many at once."""
