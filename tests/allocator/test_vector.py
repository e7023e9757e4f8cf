"""The vector's last word in the database: host parts, the link, slots; on every path."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, transaction
from psycopg.types.range import Int4Range, TimestamptzRange

from allocator.errors import DoesNotFit
from allocator.models import Device, Lease, NodeHost, Segment
from allocator.services.sweep import sweep
from tests.allocator.factories import HOUR, MIB, NOON, TENANT, Node, at, book, make_wish, release
from vxpu.ids import new_uuid
from vxpu.wire.node import HostReport

pytestmark = pytest.mark.usefixtures("system")
BOOK = "SELECT refusal FROM allocator_book(%s, %s, %s, %s, %s, 10, 10, %s, false, NULL, %s, %s, %s, %s, %s)"


def with_host(*, cores_milli: int = 8000, mib: int = 1000, devices: int = 2) -> Node:
    node = Node(devices=devices)
    NodeHost.objects.filter(node_id=node.id).update(capacity_cores_milli=cores_milli, capacity_mib=mib)
    return node


def ask_sql(
    device: UUID, *, copy: int = 0, cores: int = 0, host_mib: int = 0, slots: Int4Range | None = None
) -> str | None:
    """The booking function's own answer, from noon on for an hour."""
    period = TimestamptzRange(NOON, NOON + HOUR)
    values: list[Any] = [new_uuid(), new_uuid(), TENANT, new_uuid(), device, period, NOON, copy, cores, host_mib, slots]
    with connection.cursor() as cursor:
        cursor.execute(BOOK, values)
        refusal: str | None = cursor.fetchone()[0]
        return refusal


def insert(lease: Lease, **over: Any) -> None:
    """Past the booking function, as a bug would."""
    values: dict[str, Any] = {
        "id": new_uuid(), "tenant_id": TENANT, "lease": lease, "device_id": lease.device_id, "permille": 1, "mib": 1,
        "device_mib": MIB, "period": TimestamptzRange(NOON, NOON + HOUR), **over,
    }  # fmt: skip
    with transaction.atomic():
        Segment.objects.create(**values)


def refused_by(lease: Lease, **over: Any) -> str:
    with pytest.raises(IntegrityError) as refused:
        insert(lease, **over)
    return str(getattr(getattr(refused.value.__cause__, "diag", None), "constraint_name", None))


def test_a_host_gives_what_it_has_and_the_refusal_names_what_is_short() -> None:
    node = with_host()
    one, other = node.device_id(0), node.device_id(1)
    assert ask_sql(one, cores=6000, host_mib=600) is None
    assert ask_sql(other, cores=2001) == "host_cores"
    assert ask_sql(other, cores=2000, host_mib=401) == "host_memory"
    assert ask_sql(other, cores=2000, host_mib=400) is None
    assert sweep() == []


def test_a_node_that_did_not_say_refuses_nothing() -> None:
    node = Node()
    assert ask_sql(node.device_id(), cores=10**9, host_mib=10**9) is None
    assert sweep() == []


def test_the_link_is_shared_up_to_a_thousand() -> None:
    device = Node().device_id()
    assert [ask_sql(device, copy=part) for part in (600, 401, 400)] == [None, "copy_bandwidth", None]


def test_a_slot_is_given_once_and_not_beside_shared_slices() -> None:
    node = Node(devices=2)
    cut, shared = node.device_id(0), node.device_id(1)
    assert ask_sql(cut, slots=Int4Range(0, 2)) is None
    assert ask_sql(cut, slots=Int4Range(1, 3)) == "mig_slot"
    assert ask_sql(cut, slots=Int4Range(2, 4)) is None
    assert ask_sql(cut) == "taken_whole"
    assert ask_sql(shared) is None
    assert ask_sql(shared, slots=Int4Range(0, 1)) == "taken_whole"


def test_no_other_path_gets_past_the_fences() -> None:
    node = with_host()
    ask_sql(node.device_id(0), copy=600, cores=6000, host_mib=600)
    ask_sql(node.device_id(1), slots=Int4Range(0, 2))
    lease, cut = (Lease.objects.get(device_id=node.device_id(number)) for number in (0, 1))
    assert refused_by(lease, copy_permille=401) == "segment_fits_link"
    assert refused_by(lease, cores_milli=2001) == "segment_fits_host"
    assert refused_by(lease, host_mib=401) == "segment_fits_host"
    assert refused_by(cut, mode_class=2, slots=Int4Range(1, 2)) == "segment_slot_once"
    assert refused_by(cut, mode_class=2) == "segment_slots_of_a_cut_card"
    insert(lease, copy_permille=400, cores_milli=2000, host_mib=400)
    with pytest.raises(IntegrityError), transaction.atomic():
        Segment.objects.filter(lease=lease, cores_milli=2000).update(cores_milli=2001)


def test_the_sweep_finds_what_shrank_under_its_leases() -> None:
    node = with_host()
    ask_sql(node.device_id(), cores=6000, host_mib=600)
    NodeHost.objects.filter(node_id=node.id).update(capacity_cores_milli=5000, capacity_mib=500)
    assert [(one.kind, one.found, one.allowed) for one in sweep()] == [
        ("host_cores", 6000, 5000), ("host_memory", 600, 500),
    ]  # fmt: skip


def test_a_wish_for_cores_goes_where_they_are_and_gives_them_back() -> None:
    poor, rich = with_host(cores_milli=1000), with_host(cores_milli=4000)
    lease = book(make_wish(cores_milli=4000))
    assert lease.node_id == rich.id
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(cores_milli=4000))
    assert refused.value.data["constraints"] == {"host_cores": 4}
    release(lease.id, now=NOON)
    assert book(make_wish(cores_milli=4000)).node_id == rich.id
    assert book(make_wish(cores_milli=1000)).node_id == poor.id


def test_a_node_says_what_it_has_beside_its_devices() -> None:
    node = Node()
    host = HostReport(cores_milli=8000, memory_mib=4096, sellable_cores_milli=6000, sellable_memory_mib=3072)
    node.host = host
    assert node.sync(now=at(5)).takes_host
    row = NodeHost.objects.get(node_id=node.id)
    assert (row.cores_milli, row.memory_mib, row.capacity_cores_milli, row.capacity_mib) == (8000, 4096, 6000, 3072)
    version = Device.objects.get(node_id=node.id).version
    node.sync(now=at(10))
    assert Device.objects.get(node_id=node.id).version == version
