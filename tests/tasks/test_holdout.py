from hypothesis import given
from hypothesis import strategies as st

from trinity.tasks.holdout import places

IDS = [f"q{number}" for number in range(100)]


def sizes(place: dict[str, str]) -> dict[str, int]:
    return {split: list(place.values()).count(split) for split in ("train", "valid", "test")}


def test_a_pool_is_divided_twice() -> None:
    assert sizes({**places("p", 0, "t", IDS)}) == {"train": 64, "valid": 16, "test": 20}


def test_what_the_source_fixes_stays() -> None:
    place = places("p", 0, "t", IDS[:50], test=IDS[50:])
    assert sizes({**place}) == {"train": 40, "valid": 10, "test": 50}
    assert {identity for identity, split in place.items() if split == "test"} == set(IDS[50:])
    place = places("p", 0, "t", IDS[:50], valid=IDS[50:60], test=IDS[60:])
    assert [place[identity] for identity in IDS] == ["train"] * 50 + ["valid"] * 10 + ["test"] * 40


@given(st.permutations(IDS), st.integers(0, 3))
def test_neither_order_nor_a_few_more_ids_move_the_others(order: list[str], seed: int) -> None:
    place = places("p", seed, "t", IDS)
    assert places("p", seed, "t", order) == place
    more = places("p", seed, "t", [*IDS, "new-1", "new-2"])
    assert sum(more[identity] != place[identity] for identity in IDS) <= 3


def test_the_draw_is_keyed_by_purpose_seed_and_task() -> None:
    keys = (("p", 0, "t"), ("q", 0, "t"), ("p", 1, "t"), ("p", 0, "u"))
    assert len({tuple(sorted(places(*key, IDS).items())) for key in keys}) == 4
