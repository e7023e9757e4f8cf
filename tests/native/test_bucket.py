"""The time-debt bucket on a virtual clock: exact, no waiting (cases 14 and 16)."""

import pytest

from tests.native.guests import run_tool


@pytest.fixture(scope="module")
def figures() -> dict[str, int]:
    lines = run_tool("bucket", env={}).splitlines()
    return {name: int(value) for name, value in (line.split("=") for line in lines)}


@pytest.mark.parametrize("cost", [0, 1, 2], ids=["200us", "10ms", "600ms"])
@pytest.mark.parametrize("share", [100, 750])
def test_share_follows_time_whatever_a_launch_costs(figures: dict[str, int], share: int, cost: int) -> None:
    assert figures[f"share{share}_{cost}"] == pytest.approx(share, abs=4)


def test_a_larger_share_pays_an_old_debt_faster(figures: dict[str, int]) -> None:
    assert figures["faster"] in {9, 10}


def test_share_zero_and_pause_close_the_gate(figures: dict[str, int]) -> None:
    assert (figures["closed"], figures["paused"]) == (1, 1)


def test_who_is_held_earns_in_its_turns_and_for_their_drain(figures: dict[str, int]) -> None:
    assert figures["held_permille"] == pytest.approx(280, abs=1)  # 700 permille of 400 ms a second
    assert figures["held_last_ms"] < 388
    assert figures["held_wait"] == 5


def test_the_agents_debit_is_folded_in_once(figures: dict[str, int]) -> None:
    assert (figures["agent"], figures["agent_again"]) == (5_000_000, 0)


def test_rubbish_in_the_usage_file_never_stops_the_clock(figures: dict[str, int]) -> None:
    assert (figures["bounded"], figures["stamp"]) == (1, 1)


def test_unused_share_is_kept_for_one_burst_only(figures: dict[str, int]) -> None:
    assert figures["burst_ms"] == 4  # 20 ms x 10 % x 2 CPUs
