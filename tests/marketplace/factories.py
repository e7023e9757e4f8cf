"""A shop for tests: people, accounts, prices and orders, made through the services as the product makes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from billing import facade as billing
from identity.models import Project
from marketplace.models import Price, Reservation
from marketplace.services import prices, reserve
from marketplace.services.wish import Order
from plumbing.rowsec import system_scope
from tests.identity.factories import Person, make_project, make_tenant
from vxpu.ids import encode, new_uuid

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Buyer:
    """A tenant's admin with a project and an account."""

    person: Person
    project: Project

    @property
    def tenant_id(self) -> UUID:
        return self.person.tenant_id

    @property
    def project_name(self) -> str:
        return encode("prj", self.project.pk)

    def body(self, **over: Any) -> dict[str, Any]:
        """A quarter of a device, now, for an hour."""
        ends_at = datetime.now(UTC) + HOUR
        return {
            "project": self.project_name, "device_kind": "cpu", "ends_at": ends_at.isoformat(),
            "slice": {"memory_mib": 2048, "share_permille": 250}, **over,
        }  # fmt: skip

    def post(self, path: str, body: Any, *, key: str | None = "", **extra: Any) -> Any:
        """POST with an Idempotency-Key of its own, unless one is given or None."""
        headers = {} if key is None else {"Idempotency-Key": key or new_uuid().hex}
        return self.person.client.post(f"/api/v1/{path}", body, format="json", headers=headers, **extra)

    def get(self, path: str) -> Any:
        return self.person.client.get(f"/api/v1/{path}")


def make_buyer(*, now: datetime = NOON, currency: str = "EUR") -> Buyer:
    person = make_tenant()
    with system_scope():
        billing.open_account(tenant_id=person.tenant_id, name="Main", currency=currency, zone="UTC", now=now - HOUR)
    return Buyer(person, make_project(by=person))


def make_price(unit_price: str = "3.20", **over: Any) -> Price:
    """A list price of CPUs in EUR, valid from long before."""
    with system_scope():
        wanted: dict[str, Any] = {
            "book_id": over.pop("book_id", None) or make_book().pk, "sku": "cpu", "meter": "delivered",
            "valid_from": NOON - 365 * 24 * HOUR, "valid_until": None, "ends_previous": False, "now": NOON, **over,
        }  # fmt: skip
        return prices.add_price(unit_price=Decimal(unit_price), **wanted)


def make_book(**over: Any) -> Any:
    wanted: dict[str, Any] = {"name": f"Book {new_uuid().hex[-8:]}", "currency": "EUR", "for_tenant_id": None, **over}
    with system_scope():
        return prices.create_book(now=NOON, **wanted)


def make_order(buyer: Buyer, **over: Any) -> Order:
    """A quarter of a CPU for the hour from noon."""
    wanted: dict[str, Any] = {
        "tenant_id": buyer.tenant_id, "project_id": buyer.project.pk, "memory_mib": 2048, "share_permille": 250,
        "device_kind": "cpu", "starts_at": NOON, "ends_at": NOON + HOUR, **over,
    }  # fmt: skip
    return Order(**wanted)


def buy(buyer: Buyer, *, now: datetime = NOON, **over: Any) -> Reservation:
    name = over.pop("name", "")
    with system_scope():
        return reserve.reserve(
            order=make_order(buyer, **over), requested_by=buyer.person.user.pk, actor="user:test", now=now, name=name
        ).row


def fresh(reservation: Reservation) -> Reservation:
    """The row as it stands."""
    with system_scope():
        return Reservation.objects.get(pk=reservation.pk)


def lease_of(reservation: Reservation) -> UUID:
    assert reservation.lease_id is not None
    return reservation.lease_id
