"""The second fence: what one tenant's connection may see and write of the shop, whatever the code asks."""

from __future__ import annotations

import pytest
from django.db import ProgrammingError, connection, transaction

from marketplace.models import Meter, Offer, Placement, Price, Quota, Reservation, ReservationEvent
from marketplace.selectors import list_open_offers, price_ladder
from marketplace.services import offers
from plumbing.rowsec import system_scope, tenant_scope
from tests.marketplace.factories import HOUR, NOON, Buyer, buy, make_book, make_buyer, make_price
from tests.marketplace.node import Node

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Buyer:
    make_price("3.20")
    Node(now=NOON)
    return make_buyer()


@pytest.fixture
def bo() -> Buyer:
    return make_buyer()


def counts() -> list[int]:
    return [model._default_manager.count() for model in (Reservation, ReservationEvent, Placement, Quota)]


def test_a_tenant_sees_its_own_rows_and_no_others(ada: Buyer, bo: Buyer) -> None:
    buy(ada)
    with tenant_scope(ada.tenant_id):
        assert counts() == [1, 1, 1, 1]
    with tenant_scope(bo.tenant_id):
        assert counts() == [0, 0, 0, 0]
    assert counts() == [0, 0, 0, 0]


def test_a_tenant_changes_nothing_of_another(ada: Buyer, bo: Buyer) -> None:
    row = buy(ada)
    with tenant_scope(bo.tenant_id):
        assert Reservation.objects.filter(pk=row.pk).update(memory_mib=1) == 0
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            Quota.objects.create(tenant_id=ada.tenant_id, project_id=ada.project.pk)


def test_a_tenant_makes_no_prices_and_sees_no_other_tenants(ada: Buyer, bo: Buyer) -> None:
    make_price("1.00", book_id=make_book(for_tenant_id=bo.tenant_id).pk)
    with tenant_scope(ada.tenant_id):
        assert Price.objects.count() == 0
        with connection.cursor() as cursor:
            cursor.execute("UPDATE marketplace_price SET unit_price = 0")
            assert cursor.rowcount == 0
    with tenant_scope(bo.tenant_id):
        assert {str(price.unit_price) for price in Price.objects.filter(meter="delivered")} == {"1.0000000000"}


def test_the_list_and_the_shelf_are_open_to_all_through_their_doors(ada: Buyer) -> None:
    with system_scope():
        offers.create_offer(sku="cpu-quarter", title="A quarter", profile="1/4", memory_mib=2048, share_permille=250,
                            device_kind="cpu", isolation_at_least=None, policy=None, now=NOON)  # fmt: skip
    with tenant_scope(ada.tenant_id):
        assert Offer.objects.count() == 0
        with system_scope():
            assert [offer.sku for offer in list_open_offers()] == ["cpu-quarter"]
        ladder = price_ladder(tenant_id=ada.tenant_id, currency="EUR", skus=("cpu",), meter=Meter.DELIVERED,
                              starts_at=NOON, ends_at=NOON + HOUR)  # fmt: skip
        assert [str(rate.unit_price) for level in ladder for rate in level] == ["3.2000000000"]
