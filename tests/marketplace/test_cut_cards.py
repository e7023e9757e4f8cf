"""A part of a cut card by REST: asked for by size, sold as the smallest profile, called simulated where it is."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from allocator.models import Segment
from allocator.services.sweep import sweep
from tests.allocator.cut import CARD_MIB, card_device, card_report
from tests.marketplace.factories import Buyer, make_buyer, make_price
from tests.marketplace.node import Node, make_device
from tests.racing import race


def cut_node(**over: Any) -> Node:
    """A node with one simulated card that is cut."""
    wanted = card_device(model="Simulated GPU 80GB", vendor="NVIDIA (simulated)", simulated=True, **over)
    return Node(now=datetime.now(UTC), devices=[make_device(card=card_report(), key="nvidia:GPU-1", **wanted)])


def ask(buyer: Buyer, *, mib: int = 2000, share: int = 100, **over: Any) -> Any:
    body = buyer.body(device_kind="nvidia", slice={"memory_mib": mib, "share_permille": share}, **over)
    return buyer.post("reservations", body)


def booked_slots() -> list[tuple[int, int]]:
    return sorted((one.slots.lower, one.slots.upper) for one in Segment.objects.filter(live=True))


@pytest.fixture
def ada() -> Buyer:
    make_price("3.20", sku="nvidia")
    return make_buyer(now=datetime.now(UTC))


@pytest.mark.usefixtures("system")
def test_a_size_becomes_the_smallest_profile_at_a_legal_start_and_says_simulated(ada: Buyer) -> None:
    node = cut_node()
    answer = ask(ada)
    assert answer.status_code == 201, answer.json()
    made = answer.json()
    assert made["slice"] == {"memory_mib": CARD_MIB // 8, "share_permille": 142}
    assert (made["device"]["simulated"], made["device"]["model"]) == (True, "Simulated GPU 80GB")
    assert made["isolation"] == "mig"
    assert booked_slots() == [(6, 7)]
    assert node.device().simulated
    half = ask(ada, mib=CARD_MIB // 2, share=500).json()["slice"]
    assert half == {"memory_mib": CARD_MIB // 2, "share_permille": 571}
    assert booked_slots() == [(0, 4), (6, 7)]


@pytest.mark.usefixtures("system")
def test_room_without_a_legal_start_is_refused_by_that_name(ada: Buyer) -> None:
    cut_node()
    for size in ({}, {}, {"mib": CARD_MIB // 4, "share": 200}):
        assert ask(ada, **size).status_code == 201
    assert booked_slots()[1:] == [(5, 6), (6, 7)]
    refused = ask(ada, mib=CARD_MIB // 2, share=400)  # as much is free, in two pieces
    assert (refused.status_code, refused.json()["code"]) == (409, "no_capacity")
    assert refused.json()["constraints"] == {"mig_slot": 1}


@pytest.mark.usefixtures("committed_system")
def test_two_at_once_on_the_last_slot_and_one_wins(ada: Buyer) -> None:
    cut_node()
    for _ in range(6):
        assert ask(ada).status_code == 201
    buyers = [make_buyer(now=datetime.now(UTC)) for _ in range(2)]
    answers = race(*(partial(ask, buyer) for buyer in buyers))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 1}
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"no_capacity"}
    assert booked_slots() == [(start, start + 1) for start in range(7)]
    assert sweep() == []


@pytest.mark.usefixtures("committed_system")
def test_all_at_once_on_an_empty_card_and_as_many_win_as_there_are_starts(ada: Buyer) -> None:
    """Whoever was late for a start takes another: none is refused while there is one."""
    cut_node()
    buyers = [make_buyer(now=datetime.now(UTC)) for _ in range(4)]
    answers = race(*(partial(ask, buyer) for buyer in buyers * 2))
    assert Counter(answer.status_code for answer in answers) == {201: 7, 409: 1}
    assert booked_slots() == [(start, start + 1) for start in range(7)]
    assert sweep() == []
