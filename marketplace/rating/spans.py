"""Half-open spans of whole seconds, and how to cut them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """[starts_at, ends_at), both whole seconds, never empty."""

    starts_at: datetime
    ends_at: datetime

    def __post_init__(self) -> None:
        if self.ends_at <= self.starts_at:
            raise ValueError("a span is never empty")
        if self.starts_at.microsecond or self.ends_at.microsecond:
            raise ValueError("a span has whole seconds")

    @property
    def seconds(self) -> int:
        return (self.ends_at - self.starts_at) // SECOND


def floor_second(at: datetime) -> datetime:
    return at.replace(microsecond=0)


def ceil_second(at: datetime) -> datetime:
    return at if at.microsecond == 0 else at.replace(microsecond=0) + SECOND


def span_between(starts_at: datetime, ends_at: datetime) -> Span | None:
    """The whole seconds that lie within [starts_at, ends_at); None when there are none."""
    first, last = ceil_second(starts_at), floor_second(ends_at)
    return Span(first, last) if first < last else None


def clip(span: Span, *, within: Span) -> Span | None:
    first, last = max(span.starts_at, within.starts_at), min(span.ends_at, within.ends_at)
    return Span(first, last) if first < last else None


def cut(span: Span, *, borders: Iterable[datetime]) -> list[Span]:
    """The span in pieces, one more than there are distinct borders strictly inside it."""
    inside = sorted({border for border in borders if span.starts_at < border < span.ends_at})
    edges = [span.starts_at, *inside, span.ends_at]
    return [Span(first, last) for first, last in pairwise(edges)]


def without(span: Span, *, holes: Iterable[Span]) -> list[Span]:
    """What is left of the span when the holes are taken out."""
    left, at = [], span.starts_at
    for hole in sorted(holes):
        if at < min(hole.starts_at, span.ends_at):
            left.append(Span(at, min(hole.starts_at, span.ends_at)))
        at = max(at, hole.ends_at)
    if at < span.ends_at:
        left.append(Span(at, span.ends_at))
    return left


def bucket_start(at: datetime, *, width_s: int) -> datetime:
    """The border at or before `at` on the fixed grid of `width_s` seconds since the epoch."""
    seconds = int(at.timestamp())
    return datetime.fromtimestamp(seconds - seconds % width_s, tz=UTC)


def buckets(starts_at: datetime, ends_at: datetime, *, width_s: int) -> Iterator[datetime]:
    """The start of every bucket that touches [starts_at, ends_at)."""
    at = bucket_start(starts_at, width_s=width_s)
    while at < ends_at:
        yield at
        at += timedelta(seconds=width_s)
