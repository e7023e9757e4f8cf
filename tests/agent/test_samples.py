"""Live samples from counters: what an interval says, and what it does not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.gauge import Counters
from agent.host import HostTime
from agent.samples import SECOND_NS, SliceCounters, device_sample, host_permille, lease_sample, rates
from agent.state import SliceRecord
from vxpu.states import LeaseState, Quality
from vxpu.units import MIB

AT = datetime(2026, 12, 1, 12, tzinfo=UTC)
HALF = SECOND_NS // 2
RECORD = SliceRecord(
    lease_id="lse_a", token=1, version=1, state=LeaseState.READY, device_key="cpu:1", uid=64101, memory_mib=512,
    share_permille=250, compute_units=2, icd="", devices=(), ends_at_ns=None,
)  # fmt: skip


def counters(mono_ns: int = 0, **over: Any) -> SliceCounters:
    values = {"compute_ns": 0, "throttled_ns": 0, "memory_bytes": 0, "peak_bytes": None}
    waited_ns, processes = over.pop("waited_ns", 0), over.pop("processes", 1)
    return SliceCounters(mono_ns, Counters(**{**values, **over}), waited_ns, processes)


def test_use_is_of_the_whole_device_over_the_interval() -> None:
    after = counters(HALF, compute_ns=HALF // 2, memory_bytes=100 * MIB + 1, processes=3)
    sample = lease_sample(RECORD, counters(), after, at=AT)
    assert (sample.compute_permille.value, sample.compute_permille.quality) == (250, Quality.MEASURED)
    assert (sample.memory_mib.value, sample.memory_limit_mib, sample.compute_limit_permille) == (101, 512, 250)
    assert (sample.throttled_permille.value, sample.processes) == (0, 3)
    assert (sample.power_mw.value, sample.power_mw.quality) == (None, Quality.UNAVAILABLE)


def test_held_back_by_the_kernel_is_measured_and_by_the_library_is_its_word() -> None:
    fenced = lease_sample(RECORD, counters(), counters(HALF, throttled_ns=HALF), at=AT).throttled_permille
    assert (fenced.value, fenced.quality) == (500, Quality.MEASURED)
    paced = lease_sample(RECORD, counters(), counters(HALF, waited_ns=HALF * 3 // 4), at=AT).throttled_permille
    assert (paced.value, paced.quality) == (750, Quality.ESTIMATED)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, counters(HALF, compute_ns=5)),
        (counters(HALF), counters(HALF)),
        (counters(HALF), counters(0)),
        (counters(0, compute_ns=9), counters(HALF, compute_ns=1)),
        (counters(0, throttled_ns=9), counters(HALF)),
        (counters(0), counters(60 * SECOND_NS, compute_ns=1)),
    ],
)
def test_without_an_interval_to_speak_of_nothing_is_said(before: SliceCounters | None, after: SliceCounters) -> None:
    sample = lease_sample(RECORD, before, after, at=AT)
    assert sample.compute_permille.value is None
    assert sample.throttled_permille.quality == Quality.UNAVAILABLE


@given(
    cpu=st.integers(0, 2**63), held=st.integers(0, 2**63), length=st.integers(1, 10 * SECOND_NS),
    waits=st.tuples(st.none() | st.integers(0, 2**64 - 1), st.none() | st.integers(0, 2**64 - 1)),
)  # fmt: skip
def test_whatever_the_guest_writes_the_parts_are_at_most_the_whole(
    cpu: int, held: int, length: int, waits: tuple[int | None, int | None]
) -> None:
    found = rates(
        counters(0, waited_ns=waits[0]),
        counters(length, compute_ns=cpu, throttled_ns=held, waited_ns=waits[1]),
        compute_units=2,
    )
    assert found is not None
    assert 0 <= found.compute_permille <= 1000
    assert 0 <= found.throttled_permille <= 1000 - found.compute_permille


def test_slices_and_the_rest_make_the_device() -> None:
    busy = lease_sample(RECORD, counters(), counters(HALF, compute_ns=HALF * 8 // 10), at=AT)
    idle = lease_sample(RECORD, counters(), counters(HALF), at=AT)
    device = host_permille(HostTime(0, 0), HostTime(HALF, 2 * HALF))
    found = device_sample("cpu:1", device, [busy.compute_permille, idle.compute_permille], at=AT)
    assert (busy.compute_permille.value, idle.compute_permille.value) == (400, 0)
    assert (found.compute_permille.value, found.unattributed_permille.value) == (500, 100)
    unknown = lease_sample(RECORD, None, counters(), at=AT)
    rest = device_sample("cpu:1", device, [busy.compute_permille, unknown.compute_permille], at=AT)
    assert rest.unattributed_permille.value is None
    assert host_permille(None, HostTime(0, 1)) is None
