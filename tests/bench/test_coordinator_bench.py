"""What the bench of the engine counts."""

from itertools import pairwise

import pytest

from trinity.bench.coordinator import BARS, SUFFIX, Setting, measure

SPEC = (300, 1100, 1900, 2000, 2000)


@pytest.mark.parametrize(
    "setting, limit",
    [
        (Setting(33, (300, 700), 1.0), 20.8),
        (Setting(8, (500, 1000), 1.0), 9.6),
        (Setting(8, (500, 1000), 0.5), 3.9),
        (Setting(8, (500, 1000), 0.0), 2.7),
        (Setting(33, SPEC, 1.0), 51.5),
        (Setting(33, SPEC, 0.5), 7.6),
        (Setting(33, SPEC, 0.0), 4.1),
    ],
)
def test_the_limit_by_flop_is_what_counting_by_hand_gives(setting: Setting, limit: float) -> None:
    # By hand without the few ids of the suffix that every turn replaces.
    assert setting.flop_limit() == pytest.approx(limit, rel=0.06)


def test_transcripts_grow_and_are_shared_as_asked() -> None:
    setting = Setting(8, (50, 90, 120), 0.5)
    transcripts = setting.transcripts()
    for turn, length in enumerate(setting.lengths):
        assert {len(mine[turn]) for mine in transcripts} == {length}
        assert len({mine[turn].key for mine in transcripts}) == (1 if turn == 0 else 5)
    for mine in transcripts:
        for before, after in pairwise(mine):
            assert after.parent is not None
            assert after.parent.key == before.key
            assert after.kept == len(before) - SUFFIX


@pytest.mark.slow
def test_the_bars() -> None:
    rows = measure(BARS)["rows"]
    assert [row["ratio"] >= bar for row, bar in zip(rows, (14, 2.8, 2), strict=True)] == [True] * 3
    for row in rows:
        assert row["max_rel_diff_fp32"] < 0.06
        assert row["argmax_agreement"] > 0.95
