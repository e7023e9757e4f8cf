"""Groups of shapes: alike together, the same for the same seed, none lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.engine.grouping import group_shapes
from allocator.engine.mix import Seen, Shape

SHARES = [Seen(Shape(1, share, 2000, None), 10.0) for share in (80, 100, 120)]
GANGS = [Seen(Shape(8, 1000, cores, None), 1.0) for cores in (90_000, 96_000)]


def test_shares_and_gangs_are_two_groups() -> None:
    small, large = group_shapes([*GANGS, *SHARES], groups=2, seed=1)
    assert [one.shape for one in SHARES] == list(small.shapes)
    assert small.middle.share == 100
    assert {shape.devices for shape in large.shapes} == {8}
    assert (small.label, small.permille_of_asks, large.permille_of_asks) == (0, 938, 62)


def test_nothing_has_no_groups_and_none_is_empty() -> None:
    assert group_shapes([], groups=3, seed=1) == []
    assert len(group_shapes(SHARES[:1] * 5, groups=3, seed=1)) == 1
    with pytest.raises(ValueError, match="0 groups"):
        group_shapes(SHARES, groups=0, seed=1)


SHAPES = st.builds(Shape, st.integers(0, 8), st.integers(1, 1000), st.integers(0, 96_000), st.none())


@given(st.lists(st.builds(Seen, SHAPES, st.floats(0.0, 100.0)), max_size=20), st.integers(1, 5), st.integers(0, 99))
def test_every_shape_is_in_one_group(seen: list[Seen], groups: int, seed: int) -> None:
    found = group_shapes(seen, groups=groups, seed=seed)
    assert found == group_shapes(seen, groups=groups, seed=seed)
    assert sorted(shape[:3] for group in found for shape in group.shapes) == sorted(
        one.shape[:3] for one in seen if one.weight > 0
    )
    assert len(found) <= groups
    assert [group.label for group in found] == list(range(len(found)))
    assert not found or abs(sum(group.permille_of_asks for group in found) - 1000) <= groups
