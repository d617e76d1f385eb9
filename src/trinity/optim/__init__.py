"""Optimisers of theta and their fitness."""
