"""The server's time on a node whose own clock is wrong."""

from __future__ import annotations

from agent.clock import ServerClock

S = 1_000_000_000
TEN_MINUTES = 600 * S


def test_our_own_clock_serves_until_the_server_speaks() -> None:
    clock = ServerClock(wall_ns=1000 * S, mono_ns=0)
    assert clock.now_ns(2 * S) == 1002 * S
    assert clock.offset_ms(wall_ns=1002 * S, mono_ns=2 * S) == 0


def test_an_agent_ten_minutes_ahead_takes_the_servers_time() -> None:
    clock = ServerClock(wall_ns=1000 * S + TEN_MINUTES, mono_ns=0)
    assert clock.now_ns(S) > 1500 * S
    clock.observe(server_ns=1001 * S, sent_mono_ns=S, received_mono_ns=S + 20_000_000)
    assert clock.now_ns(2 * S) == 1001 * S + 10_000_000 + (2 * S - S - 20_000_000)
    assert clock.offset_ms(wall_ns=1002 * S + TEN_MINUTES, mono_ns=2 * S) == -600_010


def test_a_slow_answer_does_not_replace_a_quick_one() -> None:
    clock = ServerClock(wall_ns=0, mono_ns=0)
    clock.observe(server_ns=100 * S, sent_mono_ns=0, received_mono_ns=2_000_000)
    clock.observe(server_ns=105 * S, sent_mono_ns=5 * S - 2 * S, received_mono_ns=5 * S + S)
    assert clock.now_ns(10 * S) == 110 * S - 1_000_000


def test_a_server_whose_clock_was_set_is_followed_but_never_backwards() -> None:
    clock = ServerClock(wall_ns=0, mono_ns=0)
    clock.observe(server_ns=1000 * S, sent_mono_ns=0, received_mono_ns=2)
    assert clock.now_ns(S) == 1001 * S - 1
    clock.observe(server_ns=500 * S, sent_mono_ns=S, received_mono_ns=S + 2)
    assert clock.now_ns(2 * S) == 1001 * S - 1
    clock.observe(server_ns=5000 * S, sent_mono_ns=3 * S, received_mono_ns=3 * S + 2)
    assert clock.now_ns(4 * S) == 5001 * S - 1
