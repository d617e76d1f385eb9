"""The engine: what runs the encoder's blocks for many candidates and growing transcripts (docs/engine.md)."""
