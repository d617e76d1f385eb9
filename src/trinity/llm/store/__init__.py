"""Responses of real models: kept, counted, packed for others, and replayed."""
