"""Slices of simulated cards on a real agent: made, limited, resized, sold whole, sampled, and without root's means."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from agent import shm
from agent.card_leases import DRIVER_IN_SLICE
from agent.region import card_uuid
from tests.agent.agents import settle
from tests.agent.bench import wait_for
from tests.agent.card_node import CLIENT, CardNode, card_node
from vxpu.slices import Slice
from vxpu.units import MIB
from vxpu.wire import node as wire

REFUSED = "cuMemAlloc_v2: 2"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CardNode]:
    with card_node(tmp_path_factory.mktemp("slices") / "node", count=2) as made:
        yield made


def run(node: CardNode, lease_id: str, *argv: str) -> tuple[int, str]:
    """(exit code, what it said on both outputs)"""
    program = node.start(lease_id, *argv)
    out, errors = program.communicate(timeout=60)
    return program.returncode, out + errors


def test_cards_are_told_as_simulated_with_the_badge_of_their_mode(node: CardNode) -> None:
    cards = [device for device in node.agent.peer.syncs[-1].devices if device.kind == "nvidia"]
    assert len(cards) == 2
    for card in cards:
        assert card.simulated
        assert "simulated" in card.model.lower()
        assert "held by the library" in card.isolation_detail


def test_a_slice_shows_its_own_card_and_its_own_memory(node: CardNode) -> None:
    node.make("lse_a", memory_mib=1024, card=1)
    device = node.limits("lse_a").device[0]
    name = node.keys[1].removeprefix("nvidia:")
    words = card_uuid(name).int
    (number,) = [card["card"] for card in node.cards.list() if card["uuid"] == name]
    assert (device.kind, device.uuid_high << 64 | device.uuid_low) == (shm.DEVICE_CARD, words)
    assert (device.limit_bytes, device.share_permille, device.compute_units) == (1024 * MIB, 250, 1)
    code, said = run(node, "lse_a", "/bin/sh", "-c", "ls /dev | grep fake")
    assert (code, said.split()) == (0, ["vxpu-fake-clock", f"vxpu-fake{number}"])


def test_memory_ends_where_the_slice_ends_whatever_its_environment(node: CardNode) -> None:
    node.make("lse_b", memory_mib=1024)
    python = (sys.executable, str(CLIENT))
    assert run(node, "lse_b", *python, "700") == (0, "ready\n")
    code, said = run(node, "lse_b", *python, "800")
    assert (code, REFUSED in said) == (1, True)
    bare = ("/usr/bin/env", "-i", f"LD_LIBRARY_PATH={DRIVER_IN_SLICE}", *python, "800")
    code, said = run(node, "lse_b", *bare)
    assert (code, REFUSED in said) == (1, True)
    code, said = run(node, "lse_b", "/usr/bin/env", "-i", *python, "1")
    assert code == 1
    assert "libcuda.so.1" in said  # no way to the card at all


def test_a_resize_is_seen_by_the_region_and_keeps_what_was_learnt(node: CardNode) -> None:
    node.make("lse_c", memory_mib=1024)
    lease = node.agent.peer.leases["lse_c"]
    smaller = Slice(memory_mib=512, share_permille=125)
    node.agent.peer.want("lse_c", slice=smaller, version=lease.version + 1)
    wait_for(lambda: node.limits("lse_c").device[0].limit_bytes == 512 * MIB, what="the new size")
    assert node.limits("lse_c").device[0].share_permille == 125
    assert node.limits("lse_c").device[0].gain_ppm == 1_000_000


def test_a_whole_card_is_nobodys_to_limit_and_is_metered_all_the_same(tmp_path: Path) -> None:
    with card_node(tmp_path / "node", memory_mib=2048) as node:
        node.make("lse_a", memory_mib=2048, share=1000)
        report = node.agent.peer.report("lse_a")
        assert report is not None
        assert report.isolation == "exclusive"
        assert node.limits("lse_a").flags == shm.FLAG_INERT
        began = time.monotonic()
        node.client("lse_a", 1500, spin_ns=2_000_000_000)  # nothing is kept back for contexts
        time.sleep(3)
        most = 1000 * (time.monotonic() - began)  # on a busy machine its two seconds last longer
        settle(node.agent)
        events = [event.data for event in node.agent.peer.events.values() if event.subject == "lse_a"]
        assert 1_500 <= sum(event.used_permille_s or 0 for event in events) <= most
        assert max(event.peak_mib or 0 for event in events) >= 1800


def test_who_looks_sees_the_slice_and_the_card(node: CardNode) -> None:
    node.make("lse_d", memory_mib=1024)
    node.client("lse_d", 300, spin_ns=8_000_000_000)
    peer = node.agent.peer
    order = wire.Watch(lease_ids=[wire.EVERY_LEASE], interval_ms=500, until=peer.now() + timedelta(seconds=30))
    for socket in list(peer.sockets):
        socket.send(order.model_dump_json())

    def seen() -> bool:
        samples = [frame for frame in peer.frames if isinstance(frame, wire.Samples)]
        leases = [one for frame in samples for one in frame.leases if one.lease_id == "lse_d"]
        cards = [one for frame in samples for one in frame.devices if one.device_key == node.keys[0]]
        is_busy = any((one.compute_permille.value or 0) >= 900 for one in leases)
        return is_busy and any((one.compute_permille.value or 0) >= 900 for one in cards)

    wait_for(seen, seconds=15, what="a busy slice on a busy card")
    last = [one for frame in peer.frames if isinstance(frame, wire.Samples) for one in frame.leases][-1]
    assert last.memory_limit_mib == 1024


def test_without_roots_means_the_library_holds_and_the_badge_says_so(tmp_path: Path) -> None:
    with card_node(tmp_path / "node", mode="advisory") as node:
        node.make("lse_a", memory_mib=1024)
        report = node.agent.peer.report("lse_a")
        assert report is not None
        assert report.isolation == "limiter-advisory"
        assert run(node, "lse_a", sys.executable, str(CLIENT), "700") == (0, "ready\n")
        code, said = run(node, "lse_a", sys.executable, str(CLIENT), "800")
        assert (code, REFUSED in said) == (1, True)
        node.agent.peer.drop("lse_a")  # without control groups nothing else ends what an agent leaves behind
        node.agent.wait_state("gone")
