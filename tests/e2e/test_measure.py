"""The receipt's arithmetic: which windows count, and when a share is as promised."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from config.demo.measure import Interval, Stretch, interval_of, steady_windows


def window(start: int, used: int, *, contended: bool = False) -> dict[str, Any]:
    at = datetime.fromtimestamp(start, UTC).isoformat()
    return {"window_start": at, "window_s": 2, "used_permille_s": used, "contended": contended}


def interval(windows: list[dict[str, Any]], *, share: int = 250, demand: int = 950, idle: int | None = 300) -> Interval:
    return interval_of(
        windows,
        Stretch(0, 100, share),
        demand_permille=demand,
        idle_permille=lambda _from, _to: idle,
        tolerance_permille=20,
    )


def test_only_whole_windows_away_from_both_ends_count() -> None:
    windows = [window(start, 500) for start in range(0, 20, 2)]
    steady = steady_windows(windows, Stretch(3.5, 15.5, 250), window_s=2)
    assert [datetime.fromisoformat(one["window_start"]).timestamp() for one in steady] == [6, 8, 10]


def test_the_share_is_use_over_time_rounded_once() -> None:
    found = interval([window(6, 501), window(8, 500), window(10, 500)])
    assert (found.share_got_permille, found.contended) == (250, False)
    assert found.as_json() == {
        "from": "1970-01-01T00:00:06Z", "to": "1970-01-01T00:00:12Z", "share_permille": 250,
        "demand_permille": 950, "share_got_permille": 250, "contended": False,
    }  # fmt: skip


@pytest.mark.parametrize(("got", "kept"), [(230, True), (270, True), (229, False), (271, False)])
def test_two_points_are_the_tolerance_and_more_is_a_broken_promise(got: int, kept: bool) -> None:
    assert interval([window(6, 2 * got)]).is_kept(tolerance_permille=20) is kept


def test_a_share_above_the_demand_promises_the_demand() -> None:
    assert interval([window(6, 2 * 300)], share=500, demand=310).is_kept(tolerance_permille=20)


def test_a_full_machine_is_contended_and_not_blamed() -> None:
    found = interval([window(6, 2 * 200)], idle=5)
    assert (found.contended, found.promised_permille, found.is_kept(tolerance_permille=20)) == (True, 200, True)


def test_a_full_window_excuses_itself_and_not_its_neighbours() -> None:
    idle = {6: 10, 8: 300}
    found = interval_of(
        [window(6, 2 * 100), window(8, 2 * 200)],
        Stretch(0, 100, 250),
        demand_permille=950,
        idle_permille=lambda start, _end: idle[int(start)],
        tolerance_permille=20,
    )
    assert (found.share_got_permille, found.promised_permille) == (150, 175)
    assert (found.contended, found.is_kept(tolerance_permille=20)) == (True, False)


def test_contended_is_no_excuse_while_the_machine_had_time_left() -> None:
    found = interval([window(6, 2 * 200, contended=True)], idle=100)
    assert (found.contended, found.promised_permille, found.is_kept(tolerance_permille=20)) == (True, 250, False)


def test_contended_is_no_excuse_for_too_much() -> None:
    assert not interval([window(6, 2 * 300, contended=True)], idle=0).is_kept(tolerance_permille=20)


def test_a_machine_that_was_not_watched_excuses_nothing() -> None:
    assert not interval([window(6, 2 * 200)], idle=None).is_kept(tolerance_permille=20)


def test_no_steady_window_is_an_error_and_not_a_zero() -> None:
    with pytest.raises(ValueError, match="no usage window"):
        interval([])
