"""Sizes by rule: never out of bounds, once in a cool-down, the same for the same; and the nights of the clocks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marketplace.matching.scaling import (
    Decision,
    History,
    Load,
    Progress,
    Rule,
    Schedule,
    Size,
    Window,
    check,
    decide,
    retry_after,
)  # fmt: skip

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
SMALL, MIDDLE, LARGE = Size(100, 1000), Size(300, 2000), Size(800, 4000)
EVERY_DAY = frozenset(range(7))
DAY = Window(EVERY_DAY, 8 * 60, 20 * 60, LARGE)
DAYTIME = Schedule("Europe/Berlin", (DAY,), SMALL)
QUEUE = Load("queue_depth", 10, 2, Size(200, 1000))


def make_rule(body: Schedule | Load | Progress = QUEUE, **over: Any) -> Rule:
    wanted: dict[str, Any] = {
        "id": UUID(int=1), "body": body, "least": SMALL, "most": LARGE, "cool_down": timedelta(minutes=5), **over,
    }  # fmt: skip
    return Rule(**wanted)


def wanted(*rules: Rule, size: Size = MIDDLE, now: datetime = NOON, history: History | None = None,
           **readings: int) -> tuple[Size, str] | None:  # fmt: skip
    found = decide(rules, size=size, readings=readings, history=history or History(), now=now)
    return None if found is None else (found.size, found.reason)


def test_large_by_day_and_small_by_night_in_the_tenants_zone() -> None:
    rule = make_rule(DAYTIME)
    at = datetime(2026, 7, 1, tzinfo=BERLIN)
    assert [wanted(rule, now=at + timedelta(hours=hour, seconds=-1)) for hour in (8, 9, 20, 21)] == [
        (SMALL, "schedule"), (LARGE, "schedule"), (LARGE, "schedule"), (SMALL, "schedule"),
    ]  # fmt: skip


def test_a_window_over_midnight_belongs_to_the_day_on_which_it_starts() -> None:
    friday_night = Window(frozenset({4}), 22 * 60, 6 * 60, LARGE)
    rule = make_rule(Schedule("UTC", (friday_night,), SMALL))
    friday = datetime(2026, 12, 4, tzinfo=UTC)
    large = [hour for hour in range(72) if wanted(rule, now=friday + timedelta(hours=hour)) == (LARGE, "schedule")]
    assert large == list(range(22, 30))


@pytest.mark.parametrize(("night", "hours"), [((2026, 3, 29), 1), ((2026, 10, 25), 3)])
def test_an_hour_that_is_skipped_is_short_and_one_that_comes_twice_is_long(
    night: tuple[int, int, int], hours: int
) -> None:
    """02:00-03:00 is skipped in spring and comes twice in autumn; the window 01:00-03:00 is then 1 and 3 hours."""
    rule = make_rule(Schedule("Europe/Berlin", (Window(EVERY_DAY, 60, 180, LARGE),), SMALL))
    start = datetime(night[0], night[1], night[2], tzinfo=BERLIN).astimezone(UTC)
    minutes = sum(wanted(rule, now=start + timedelta(minutes=n)) == (LARGE, "schedule") for n in range(8 * 60))
    assert minutes == hours * 60


def test_load_moves_a_step_and_holds_between_the_thresholds() -> None:
    rule = make_rule()
    assert wanted(rule, queue_depth=11) == (Size(500, 3000), "load_high")
    assert wanted(rule, queue_depth=1) == (SMALL, "load_low")
    assert [wanted(rule, queue_depth=level) for level in (2, 5, 10)] == [None] * 3
    assert wanted(rule) is None
    assert wanted(rule, size=LARGE, queue_depth=99) is None


def test_the_largest_opinion_wins() -> None:
    night = make_rule(replace(DAYTIME, windows=()), id=UUID(int=2))
    assert wanted(night, make_rule(), queue_depth=5) is None
    assert wanted(night, make_rule(), queue_depth=99) == (Size(500, 3000), "load_high")
    assert wanted(night, make_rule(), queue_depth=0) == (SMALL, "schedule")


def test_progress_follows_its_table() -> None:
    rule = make_rule(Progress(((0, SMALL), (10, LARGE), (90, MIDDLE))))
    assert [wanted(rule, epoch=epoch, size=Size(1, 1)) for epoch in (0, 9, 10, 90, 500)] == [
        (size, "epoch") for size in (SMALL, SMALL, LARGE, MIDDLE, MIDDLE)
    ]
    assert wanted(rule) is None


def test_a_refused_size_is_tried_again_later_and_later_and_another_at_once() -> None:
    refused = History(refused=Size(500, 3000), refused_at=NOON, refusals=3)
    late = NOON + timedelta(seconds=120)
    assert wanted(make_rule(), queue_depth=11, history=refused, now=late - timedelta(seconds=1)) is None
    assert wanted(make_rule(), queue_depth=11, history=refused, now=late) is not None
    assert wanted(make_rule(), queue_depth=0, history=refused) == (SMALL, "load_low")
    assert [retry_after(n).total_seconds() for n in (0, 1, 2, 7, 99)] == [30, 30, 60, 1800, 1800]


@pytest.mark.parametrize("rule", [
    make_rule(least=LARGE, most=SMALL), make_rule(least=Size(0, 1)), make_rule(most=Size(1001, 4000)),
    make_rule(replace(QUEUE, shrink_at=10)), make_rule(replace(QUEUE, step=Size(0, 0))),
    make_rule(Schedule("Europe/Atlantis", (), SMALL)), make_rule(Schedule("../etc/passwd", (), SMALL)),
    make_rule(Schedule("UTC", (replace(DAY, days=frozenset({7})),), SMALL)),
    make_rule(Progress(())), make_rule(Progress(((5, SMALL), (5, LARGE)))),
    make_rule(cool_down=timedelta(seconds=-1)),
])  # fmt: skip
def test_a_rule_that_could_never_be_kept_is_refused(rule: Rule) -> None:
    with pytest.raises(ValueError, match=r"."):
        check(rule)


sizes = st.builds(Size, st.integers(1, 1000), st.integers(1, 9000))
bodies = st.one_of(
    st.builds(Load, st.just("queue_depth"), st.integers(5, 9), st.integers(0, 4), sizes),
    st.builds(Schedule, st.just("Europe/Berlin"), st.just((DAY,)), sizes),
    st.builds(lambda size: Progress(((3, size),)), sizes),
)


@st.composite
def any_rule(draw: st.DrawFn) -> Rule:
    least = Size(draw(st.integers(1, 500)), draw(st.integers(1, 4000)))
    most = Size(draw(st.integers(least.permille, 1000)), draw(st.integers(least.mib, 9000)))
    return make_rule(
        draw(bodies), least=least, most=most, id=UUID(int=draw(st.integers(1, 9))),
        cool_down=timedelta(seconds=draw(st.integers(0, 600))),
    )  # fmt: skip


Beat = tuple[int, int, int, bool]
beats = st.lists(st.tuples(st.integers(1, 300), st.integers(0, 12), st.integers(0, 6), st.booleans()), max_size=40)


def play(rules: list[Rule], beats: list[Beat]) -> list[tuple[datetime, Decision]]:
    """What is applied over many beats; a resize may be refused."""
    size, history, now, done = MIDDLE, History(), NOON, []
    for seconds, depth, epoch, fits in beats:
        now += timedelta(seconds=seconds)
        found = decide(rules, size=size, readings={"queue_depth": depth, "epoch": epoch}, history=history, now=now)
        if found is None:
            continue
        if fits:
            size, history = found.size, History(changed_at=now)
            done.append((now, found))
        else:
            again = history.refusals + 1 if history.refused == found.size else 1
            history = replace(history, refused=found.size, refused_at=now, refusals=again)
    return done


@settings(max_examples=200, deadline=None)
@given(st.lists(any_rule(), min_size=1, max_size=3, unique_by=lambda rule: rule.id), beats)
def test_never_out_of_bounds_never_twice_in_a_cool_down_and_always_the_same(
    rules: list[Rule], beats: list[Beat]
) -> None:
    done = play(rules, beats)
    by_id = {rule.id: rule for rule in rules}
    for _, found in done:
        rule = by_id[found.rule]
        assert rule.least.permille <= found.size.permille <= rule.most.permille
        assert rule.least.mib <= found.size.mib <= rule.most.mib
    for (before, _), (after, found) in pairwise(done):
        assert after - before >= by_id[found.rule].cool_down
    assert done == play(list(reversed(rules)), beats)
