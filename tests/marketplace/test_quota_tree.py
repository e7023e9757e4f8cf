"""Tenants of a cohort use each other's idle quota, up to what each may borrow and lends, under one lock."""

from __future__ import annotations

from typing import Any

import pytest

from marketplace.errors import CohortRefused, QuotaExceeded
from marketplace.models import Cohort, DecayedUse
from marketplace.services import cohorts, decay, quotas
from tests.identity.factories import make_project
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, make_buyer, make_price
from tests.marketplace.node import Node, make_device

pytestmark = pytest.mark.usefixtures("system")


@pytest.fixture(autouse=True)
def fleet(system: None) -> None:
    make_price()
    Node(now=NOON, devices=[make_device() for _ in range(3)])


def make_cohort(name: str = "House", **over: Any) -> Cohort:
    return cohorts.create_cohort(name=name, now=NOON, actor="user:test", **over)


def put(buyer: Buyer, cohort: Cohort | None, **over: Any) -> None:
    """One device of its own."""
    wanted: dict[str, Any] = {
        "project_id": None, "nominal_permille": 1000, "nominal_mib": 8192, "max_reservations": 20, "by_operator": True,
        "cohort_id": cohort and cohort.pk, "borrow_permille": None, "borrow_mib": None, **over,
    }  # fmt: skip
    quotas.set_quota(tenant_id=buyer.tenant_id, now=NOON, **wanted)


def take(buyer: Buyer, permille: int = 1000, **over: Any) -> Any:
    return buy(buyer, share_permille=permille, memory_mib=permille * 8, **over)


def refused(buyer: Buyer, permille: int = 1000) -> tuple[object, ...]:
    with pytest.raises(QuotaExceeded) as error:
        take(buyer, permille)
    data = error.value.data
    return data["scope"], data["nominal"], data["in_use"]


def test_without_a_cohort_nothing_is_borrowed() -> None:
    ada = make_buyer()
    put(ada, None)
    take(ada)
    assert refused(ada, 1) == ("tenant", 1000, 1000)


def test_idle_quota_of_the_cohort_is_borrowed_and_no_more() -> None:
    house, ada, bo = make_cohort(), make_buyer(), make_buyer()
    put(ada, house)
    put(bo, house)
    take(ada), take(ada, 500)
    assert refused(ada, 501) == ("cohort", 2000, 1500)
    take(bo, 500)
    assert refused(bo, 1) == ("cohort", 2000, 2000)


def test_borrow_and_lend_limits_bind() -> None:
    house, ada, bo = make_cohort(), make_buyer(), make_buyer()
    put(ada, house, borrow_permille=200)
    put(bo, house, lend_permille=600)
    take(ada)
    assert refused(ada, 201) == ("tenant", 1200, 1000)
    put(ada, house)
    assert refused(ada, 601) == ("cohort", 2000, 1400)
    take(ada, 600), take(bo, 400)


def test_cohorts_in_a_cohort_and_a_pool_of_nobodys_own() -> None:
    root = make_cohort(nominal_permille=1000, nominal_mib=8192)
    team = make_cohort("Team", parent_id=root.pk, borrow_permille=500, borrow_mib=None)
    ada = make_buyer()
    put(ada, team)
    take(ada), take(ada, 500)
    assert refused(ada, 1) == ("cohort", 1500, 1500)


def test_a_project_may_keep_a_part_of_its_tenants_quota() -> None:
    ada = make_buyer()
    put(ada, None)
    quotas.set_quota(tenant_id=ada.tenant_id, project_id=ada.project.pk, nominal_permille=400, nominal_mib=8192,
                     max_reservations=9, by_operator=False, now=NOON, lend_permille=0, lend_mib=None)  # fmt: skip
    other = Buyer(ada.person, make_project(by=ada.person))
    assert refused(other, 601) == ("tenant", 1000, 400)
    take(other, 600), take(ada, 400)


def test_a_ring_of_cohorts_is_refused() -> None:
    root = make_cohort()
    team = make_cohort("Team", parent_id=root.pk)
    with pytest.raises(CohortRefused):
        cohorts.set_cohort(cohort_id=root.pk, now=NOON, actor="user:test", parent_id=team.pk)


def test_urgent_has_a_quota_of_its_own() -> None:
    ada = make_buyer()
    take(ada, 600, priority="urgent")
    with pytest.raises(QuotaExceeded) as error:
        take(ada, 401, priority="urgent")
    assert (error.value.data["resource"], error.value.data["in_use"]) == ("urgent_permille", 600)
    take(ada, 401)
    put(ada, None, urgent_permille=0, nominal_permille=9000, nominal_mib=99_999)
    with pytest.raises(QuotaExceeded):
        take(ada, 1, priority="urgent")


def test_use_is_counted_once_and_forgotten_by_halves() -> None:
    ada = make_buyer()
    row = take(ada, 1000, ends_at=NOON + HOUR)
    for minutes in (7, 7, 61, 180):
        decay.bring_up(now=NOON + minutes * MINUTE)
        decay.bring_up(now=NOON + minutes * MINUTE)
    used = DecayedUse.objects.get(project_id=row.project_id)
    assert used.through == NOON + 180 * MINUTE
    assert used.permille_s == pytest.approx(1000 * 3600, rel=0.02)
    assert used.permille_s < 1000 * 3600
    decay.bring_up(now=NOON + 7 * 24 * HOUR + 180 * MINUTE)
    assert DecayedUse.objects.get(pk=used.pk).permille_s == pytest.approx(
        used.permille_s / 2, rel=1e-3
    )  # a unit a step is rounded off
