"""Role prompts, post-processing of replies, the verdict parser."""
