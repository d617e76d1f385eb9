"""The graders by themselves: on answers of a user's own, on benchmarks' own answers, on wrong programs."""
