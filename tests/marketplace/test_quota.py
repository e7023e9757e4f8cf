"""Quota: the peak over the period, per tenant and per project, with the figures in the refusal."""

from __future__ import annotations

from typing import Any

import pytest

from marketplace.errors import QuotaExceeded
from marketplace.models import EVERYWHERE, Quota
from marketplace.selectors import peak_and_count
from marketplace.services import extend, quotas, release, resize
from plumbing.errors import Forbidden, NotFound
from tests.marketplace.factories import HOUR, NOON, Buyer, buy, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import new_uuid

pytestmark = pytest.mark.usefixtures("system")


@pytest.fixture
def ada() -> Buyer:
    make_price()
    Node(now=NOON)
    return make_buyer()


def allow(buyer: Buyer, **over: Any) -> Quota:
    wanted: dict[str, Any] = {
        "tenant_id": buyer.tenant_id, "project_id": None, "nominal_permille": 500, "nominal_mib": 8192,
        "max_reservations": 10, "by_operator": True, "now": NOON, **over,
    }  # fmt: skip
    return quotas.set_quota(**wanted)


def test_the_refusal_gives_the_figures(ada: Buyer) -> None:
    allow(ada)
    buy(ada, share_permille=300)
    with pytest.raises(QuotaExceeded) as refused:
        buy(ada, share_permille=201)
    assert refused.value.status == 409
    assert refused.value.data == {
        "scope": "tenant", "resource": "share_permille", "nominal": 500, "in_use": 300, "asked": 201,
    }  # fmt: skip
    buy(ada, share_permille=200)


def test_back_to_back_is_not_both_at_once(ada: Buyer) -> None:
    allow(ada)
    buy(ada, share_permille=500, ends_at=NOON + HOUR)
    buy(ada, share_permille=500, starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR)
    with pytest.raises(QuotaExceeded):
        buy(ada, share_permille=1, starts_at=NOON, ends_at=NOON + 2 * HOUR)


def test_the_peak_counts_not_the_sum(ada: Buyer) -> None:
    for hour in range(3):
        buy(ada, share_permille=400, memory_mib=100, starts_at=NOON + hour * HOUR, ends_at=NOON + (hour + 1) * HOUR)
    buy(ada, share_permille=100, memory_mib=50, starts_at=NOON + HOUR, ends_at=None)
    found = peak_and_count(tenant_id=ada.tenant_id, project_id=None, starts_at=NOON, ends_at=None)
    assert found == (500, 150, 4)


def test_a_projects_quota_binds_inside_the_tenants(ada: Buyer) -> None:
    allow(ada, nominal_permille=1000)
    allow(ada, project_id=ada.project.pk, nominal_permille=200, by_operator=False)
    with pytest.raises(QuotaExceeded) as refused:
        buy(ada, share_permille=250)
    assert refused.value.data["scope"] == "project"


def test_memory_and_numbers_are_bound_too(ada: Buyer) -> None:
    allow(ada, nominal_mib=3000, max_reservations=2)
    buy(ada, share_permille=100, memory_mib=2000)
    with pytest.raises(QuotaExceeded, match="1001 MiB"):
        buy(ada, share_permille=100, memory_mib=1001)
    buy(ada, share_permille=100, memory_mib=500)
    with pytest.raises(QuotaExceeded) as refused:
        buy(ada, share_permille=100, memory_mib=1)
    assert refused.value.data["resource"] == "reservations"


def test_a_release_gives_it_back_and_a_change_counts_itself_once(ada: Buyer) -> None:
    allow(ada)
    row = buy(ada, share_permille=400, starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR)
    who: dict[str, Any] = {"reach": EVERYWHERE, "reservation_id": row.pk, "actor": "user:test", "now": NOON}
    resize.resize(**who, memory_mib=2048, share_permille=500)
    with pytest.raises(QuotaExceeded):
        resize.resize(**who, memory_mib=2048, share_permille=501)
    other = buy(ada, share_permille=300, starts_at=NOON + 3 * HOUR, ends_at=NOON + 4 * HOUR)
    with pytest.raises(QuotaExceeded):
        extend.extend(**who, ends_at=NOON + 4 * HOUR)
    release.release(reach=EVERYWHERE, reservation_id=other.pk, actor="user:test", now=NOON)
    assert extend.extend(**who, ends_at=NOON + 4 * HOUR).ends_at == NOON + 4 * HOUR


def test_a_whole_device_counts_as_a_whole_one(ada: Buyer) -> None:
    allow(ada)
    with pytest.raises(QuotaExceeded):
        buy(ada, share_permille=100, memory_mib=100, isolation_at_least="exclusive")
    allow(ada, nominal_permille=1000)
    row = buy(ada, share_permille=100, memory_mib=100, isolation_at_least="exclusive")
    assert (row.share_permille, row.memory_mib) == (1000, 8192)


def test_who_may_set_what(ada: Buyer) -> None:
    with pytest.raises(Forbidden):
        allow(ada, by_operator=False)
    with pytest.raises(NotFound):
        allow(ada, project_id=new_uuid())
    allow(ada, nominal_permille=1)
    allow(ada, nominal_permille=2)
    assert list(Quota.objects.filter(tenant_id=ada.tenant_id).values_list("nominal_permille", flat=True)) == [2]
