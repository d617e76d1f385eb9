"""Short questions on which small language models differ in what they can do."""
