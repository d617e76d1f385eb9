"""How many threads torch may use.

On small models a second thread gains little, and costs dearly where another process wants the same cores: measured
0.15 s against 17 s a round on two shared cores. The count changes no decision in float64.
"""


def use_threads(count: int) -> None:
    """Sets torch's threads within operations."""
    import torch

    torch.set_num_threads(count)
