"""Samples on request, from a real agent: only while somebody looks, and never in the heartbeats' way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agents import Agent, run_in, running_agent
from tests.agent.bench import skip_unless_root, wait_for
from vxpu.slices import Slice
from vxpu.wire.node import EVERY_LEASE, LeaseSample, Samples, Sync, Watch


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    skip_unless_root()
    with running_agent(tmp_path / "node") as found:
        found.peer.want(slice=Slice(memory_mib=64, share_permille=200))
        found.peer.want("lse_b", slice=Slice(memory_mib=64, share_permille=200))
        found.wait_state("ready")
        found.wait_state("ready", "lse_b")
        yield found


def watch(agent: Agent, *lease_ids: str, seconds: float = 3, **over: Any) -> None:
    order = Watch(lease_ids=list(lease_ids), until=agent.peer.now() + timedelta(seconds=seconds), **over)
    agent.peer.sockets[-1].send(order.model_dump_json())


def frames(agent: Agent) -> list[Samples]:
    return [frame for frame in agent.peer.frames if isinstance(frame, Samples)]


def of(agent: Agent, lease_id: str) -> list[LeaseSample]:
    return [sample for frame in frames(agent) for sample in frame.leases if sample.lease_id == lease_id]


def mean(values: list[int | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)


def test_a_busy_slice_and_an_idle_one_differ_and_make_the_device_with_the_rest(agent: Agent) -> None:
    # What a guest does to its own page of the limiter changes nothing.
    token = agent.peer.lease_token("lse_b")
    spoil = run_in(agent, "lse_b", "sh", "-c", "truncate -s 0 /run/vxpu/uid/$(id -u)/usage", token=token)
    assert spoil.wait(20) == 0
    agent.burn()
    wait_for(lambda: len(agent.group().processes()) > 1, what="it burns")
    watch(agent, EVERY_LEASE, seconds=5)
    wait_for(lambda: len(frames(agent)) >= 7, what="seven samples come")
    busy, idle = of(agent, "lse_a")[2:], of(agent, "lse_b")[2:]
    assert 100 <= mean([one.compute_permille.value for one in busy]) <= 220
    assert mean([one.compute_permille.value for one in idle]) <= 20
    assert min(one.throttled_permille.value or 0 for one in busy) > 0
    for frame in frames(agent)[2:]:
        (device,) = frame.devices
        parts = [*(one.compute_permille for one in frame.leases), device.unattributed_permille]
        whole = sum(part.value or 0 for part in parts)
        assert device.compute_permille.value is not None
        # The host counts in ticks of 10 ms, the groups in nanoseconds.
        assert abs(device.compute_permille.value - whole) <= 20


def test_it_samples_while_somebody_looks_and_stops_by_itself(agent: Agent) -> None:
    time.sleep(0.7)
    assert frames(agent) == []
    watch(agent, "lse_a", seconds=1)
    time.sleep(0.5)
    watch(agent, "lse_a", seconds=2)
    time.sleep(3)
    found = of(agent, "lse_a")
    assert 4 <= len(found) <= 7
    assert of(agent, "lse_b") == []
    assert found[0].compute_permille.value is None
    assert found[-1].compute_permille.value is not None
    assert all(0 < (later.at - sooner.at).total_seconds() < 1.5 for sooner, later in pairwise(found))
    assert not any(frame.devices for frame in frames(agent))


def test_heartbeats_and_usage_go_on_beside_it_and_unknown_leases_are_nothing(agent: Agent) -> None:
    watch(agent, "lse_a", "lse_unknown", seconds=60, interval_ms=100)
    before, windows = sum(isinstance(frame, Sync) for frame in agent.peer.frames), len(agent.peer.events)
    time.sleep(4)
    assert sum(isinstance(frame, Sync) for frame in agent.peer.frames) - before >= 3
    assert len(agent.peer.events) > windows
    assert {sample.lease_id for frame in frames(agent) for sample in frame.leases} == {"lse_a"}
    assert len(frames(agent)) <= 4 / 0.25 + 2  # never more often than four times a second
    agent.peer.sockets[-1].close()
    wait_for(lambda: agent.peer.sockets, what="the agent comes back")
    told = len(frames(agent))
    time.sleep(1)
    assert len(frames(agent)) == told
