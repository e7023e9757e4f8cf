"""Capacity for long: two hundred random clients whose connections are killed, and hot slots over many rounds."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from allocator.models import Lease
from allocator.services.sweep import sweep
from tests.allocator.factories import NOON, Node, book, make_wish, release
from tests.concurrency.clients import LEVELS, Clock, RandomClient, at_level, killing_connections, outcomes
from tests.concurrency.test_capacity import HALF, fill_all_but_a_quarter
from tests.racing import race
from tests.servers import Servers
from tests.soak import SayFigures, scaled
from vxpu.market import LeaseView

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1200),
    pytest.mark.usefixtures("committed_system"),
    pytest.mark.parametrize("isolation", LEVELS),
]
CLIENTS, AT_ONCE, STEPS = 200, 12, 6


def live_all(clients: list[RandomClient]) -> None:
    """Each client a few steps, a dozen at a time, each on a connection of its own."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for turn in [pool.submit(client.live, STEPS) for client in clients]:
            turn.result()


def test_two_hundred_random_clients_on_eight_devices_never_oversell(
    committed_system: str, servers: Servers, say_figures: SayFigures, isolation: str
) -> None:
    Node(devices=8)
    clock = Clock()
    clients = [RandomClient(seed, clock, isolation) for seed in range(CLIENTS)]
    rounds = scaled(5)
    for _ in range(rounds):
        with killing_connections(servers, committed_system, every_s=0.25):
            live_all(clients)
        assert sweep() == []
    seen = sum((client.seen for client in clients), Counter[str]())
    assert seen["book"] > CLIENTS // 2
    assert seen["killed"] > 0
    # Whether a commit went through on a killed connection, only the database knows.
    assert seen["book"] <= Lease.objects.count() <= seen["book"] + seen["killed"]
    say_figures(clients=CLIENTS, steps=seen.total(), checkpoints=rounds, violations=0, **dict(sorted(seen.items())))


def test_the_last_quarter_is_won_once_in_every_round(say_figures: SayFigures, isolation: str) -> None:
    fill_all_but_a_quarter()
    rounds, wins = scaled(100), Counter[str]()
    for _ in range(rounds):
        results = race(*[at_level(isolation, partial(book, make_wish()))] * 10)
        assert outcomes(results) == {"LeaseView": 1, "DoesNotFit": 9}
        wins += outcomes(results)
        assert sweep() == []
        give_back(results)
    say_figures(clients=10, rounds=rounds, wins=wins["LeaseView"], refused=wins["DoesNotFit"], violations=0)


def test_sixteen_of_twenty_win_halves_of_eight_devices_in_every_round(say_figures: SayFigures, isolation: str) -> None:
    Node(devices=8)
    wish = make_wish(policy="spread", **HALF)
    rounds, wins = scaled(20), Counter[str]()
    for _ in range(rounds):
        results = race(*[at_level(isolation, partial(book, wish))] * 20, timeout_s=60)
        assert outcomes(results) == {"LeaseView": 16, "DoesNotFit": 4}
        wins += outcomes(results)
        assert sweep() == []
        give_back(results)
    say_figures(clients=20, rounds=rounds, wins=wins["LeaseView"], refused=wins["DoesNotFit"], violations=0)


def give_back(results: list[object]) -> None:
    """The winners release at once, so that the next round finds the same room."""
    for won in results:
        if isinstance(won, LeaseView):
            release(won.id, now=NOON)
