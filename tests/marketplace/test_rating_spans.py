"""Time in whole seconds, cut at borders: nothing lost, nothing twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.rating.spans import Span, bucket_start, buckets, clip, cut, span_between, without

DAY = datetime(2026, 12, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return DAY + timedelta(seconds=seconds)


def span(first: int, last: int) -> Span:
    return Span(at(first), at(last))


spans = st.tuples(st.integers(0, 500), st.integers(1, 500)).map(lambda pair: span(pair[0], pair[0] + pair[1]))


def test_a_span_is_never_empty_and_never_has_fractions() -> None:
    with pytest.raises(ValueError, match="never empty"):
        span(5, 5)
    with pytest.raises(ValueError, match="whole seconds"):
        Span(at(0.5), at(2))


def test_only_whole_seconds_inside_count() -> None:
    assert span_between(at(0.2), at(3.9)) == span(1, 3)
    assert span_between(at(1), at(3)) == span(1, 3)
    assert span_between(at(1.1), at(1.9)) is None
    assert span_between(at(1.1), at(2.9)) is None


def test_touching_spans_do_not_overlap() -> None:
    assert clip(span(0, 10), within=span(10, 20)) is None
    assert clip(span(0, 11), within=span(10, 20)) == span(10, 11)


@given(spans, st.lists(st.integers(0, 1000), max_size=12))
def test_cutting_loses_no_second(whole: Span, borders: list[int]) -> None:
    pieces = cut(whole, borders=[at(border) for border in borders])
    assert sum(piece.seconds for piece in pieces) == whole.seconds
    assert all(left.ends_at == right.starts_at for left, right in pairwise(pieces))


@given(spans, st.lists(spans, max_size=8))
def test_holes_and_what_is_left_make_the_whole(whole: Span, holes: list[Span]) -> None:
    inside = set(range(whole.seconds))
    first = int((whole.starts_at - DAY).total_seconds())
    covered = {
        second for second in inside if any(hole.starts_at <= at(first + second) < hole.ends_at for hole in holes)
    }
    left = without(whole, holes=holes)
    assert sum(piece.seconds for piece in left) == len(inside - covered)
    assert all(clip(piece, within=hole) is None for piece in left for hole in holes)


def test_buckets_lie_on_a_grid_since_the_epoch() -> None:
    assert bucket_start(at(59.9), width_s=60) == at(0)
    assert list(buckets(at(59), at(121), width_s=60)) == [at(0), at(60), at(120)]
    assert list(buckets(at(60), at(120), width_s=60)) == [at(60)]
