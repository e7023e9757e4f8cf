"""The doors of billing, with people as identity makes them."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from billing import facade as billing
from plumbing.rowsec import system_scope
from tests.billing.factories import charge, make_item
from tests.identity.factories import Person, make_member, make_operator, make_project, make_tenant
from vxpu.ids import encode, new_uuid

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
END = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
START = END - HOUR


class Cast:
    """A tenant with an admin, finance and a member; an outsider; an operator."""

    def __init__(self) -> None:
        self.admin = make_tenant(name="Ada Labs")
        self.finance = make_member(by=self.admin, role="finance")
        self.member = make_member(by=self.admin, project=make_project(by=self.admin))
        self.outsider = make_tenant()
        self.operator = make_operator()

    def post(self, who: Person, address: str, body: dict[str, Any], status: int) -> dict[str, Any]:
        answer = who.client.post(f"/api/v1/{address}", body, format="json")
        assert answer.status_code == status, answer.content
        return dict(answer.json())

    def get(self, who: Person, address: str, status: int = 200) -> dict[str, Any]:
        answer = who.client.get(f"/api/v1/{address}")
        assert answer.status_code == status, answer.content
        return dict(answer.json())

    def open(self, person: Person, **over: Any) -> dict[str, Any]:
        body = {"tenant": encode("ten", person.tenant_id), "name": "Ada Labs", "zone": "Europe/Berlin", **over}
        return self.post(self.operator, "accounts", body, 201)

    def close(self, status: int = 200, **over: Any) -> dict[str, Any]:
        ten = encode("ten", self.admin.tenant_id)
        body = {"tenant": ten, "starts_at": START.isoformat(), "ends_at": END.isoformat(), **over}
        return self.post(self.operator, "billing-periods/close", body, status)

    def invoiced(self) -> dict[str, Any]:
        """An invoice of 0.80 for the tenant."""
        self.open(self.admin)
        with system_scope():
            account = billing.get_account(tenant_id=self.admin.tenant_id)
            charge(account, make_item(starts_at=START, ends_at=END), source=UUID(int=1))
        return self.close()


@pytest.fixture
def cast() -> Cast:
    return Cast()


def test_the_operator_opens_accounts_and_members_see_theirs(cast: Cast) -> None:
    made = cast.open(cast.admin)
    assert made["id"].startswith("acc_")
    assert (made["currency"], made["zone"], made["anchor_day"], made["status"]) == ("EUR", "Europe/Berlin", 1, "active")
    assert cast.open(cast.admin) == made
    for person in (cast.admin, cast.finance, cast.member):
        assert cast.get(person, "account") == made
    assert cast.get(cast.outsider, "account", 409)["code"] == "no_account"


@pytest.mark.parametrize(
    ("over", "status", "code"),
    [
        ({"zone": "Mars/Olympus"}, 422, "bad_account"),
        ({"currency": "XXX"}, 400, "invalid_input"),
        ({"anchor_day": 0}, 400, "invalid_input"),
        ({"tenant": "ten_nope"}, 400, "invalid_input"),
        ({"name": ""}, 400, "invalid_input"),
        ({"name": "nul\0"}, 400, "invalid_input"),
    ],
)
def test_bad_accounts_are_refused(cast: Cast, over: dict[str, Any], status: int, code: str) -> None:
    body = {"tenant": encode("ten", cast.admin.tenant_id), "name": "Ada", **over}
    assert cast.post(cast.operator, "accounts", body, status)["code"] == code
    assert cast.get(cast.admin, "account", 409)["code"] == "no_account"


def test_the_operator_suspends_and_closes_accounts(cast: Cast) -> None:
    address = f"/api/v1/accounts/{cast.open(cast.admin)['id']}"

    def patch(who: Person, status: str) -> tuple[int, str]:
        answer = who.client.patch(address, {"status": status}, format="json")
        return answer.status_code, answer.json().get("code") or answer.json()["status"]

    wanted = ["suspended", "suspended", "active", "closed"]
    assert [patch(cast.operator, status) for status in wanted] == [(200, status) for status in wanted]
    assert patch(cast.operator, "active") == (409, "account_status_refused")
    assert patch(cast.operator, "gone") == (400, "invalid_input")
    assert patch(cast.admin, "active") == (403, "forbidden")
    lost = cast.operator.client.patch("/api/v1/accounts/acc_nope", {"status": "active"}, format="json")
    assert lost.status_code == 404


def test_an_invoice_from_close_to_csv(cast: Cast) -> None:
    made = cast.invoiced()
    assert (made["number"], made["total"], made["currency"], made["state"]) == ("INV-000001", "0.80", "EUR", "issued")
    line = made["lines"][0]
    assert (line["kind"], line["quantity"], line["unit_price"], line["amount"]) == (
        "used", 900_000, "3.2000000000", "0.80",
    )  # fmt: skip
    assert cast.close() == made
    for person in (cast.admin, cast.finance, cast.operator):
        assert cast.get(person, f"invoices/{made['id']}") == made
        listed = cast.get(person, "invoices")
        assert [row["id"] for row in listed["items"]] == [made["id"]]
        assert "lines" not in listed["items"][0]
        text = person.client.get(f"/api/v1/invoices/{made['id']}/csv")
        assert text["Content-Type"] == "text/csv; charset=utf-8"
        assert text["Content-Disposition"] == 'attachment; filename="INV-000001.csv"'
        rows = list(csv.DictReader(io.StringIO(text.content.decode())))
        assert [(row["amount"], row["invoice_total"]) for row in rows] == [("0.80", "0.80")]


def test_csv_is_had_with_its_own_accept_header_and_errors_stay_problems(cast: Cast) -> None:
    made = cast.invoiced()
    for accept in ("text/csv", "*/*", "application/json"):
        answer = cast.finance.client.get(f"/api/v1/invoices/{made['id']}/csv", headers={"Accept": accept})
        assert answer.status_code == 200
        assert answer.content.startswith(b"invoice,account,")
    lost = cast.finance.client.get(f"/api/v1/invoices/{encode('inv', new_uuid())}/csv", headers={"Accept": "text/csv"})
    assert (lost.status_code, lost.json()["code"]) == (404, "not_found")
    assert lost["Content-Type"].startswith("application/problem+json")


def test_other_peoples_papers_are_not_there(cast: Cast) -> None:
    made = cast.invoiced()
    assert cast.get(cast.outsider, f"invoices/{made['id']}", 404)["code"] == "not_found"
    assert cast.outsider.client.get(f"/api/v1/invoices/{made['id']}/csv").status_code == 404
    assert cast.get(cast.outsider, "invoices")["items"] == []
    assert cast.get(cast.outsider, "ledger")["rows"] == []
    for address in ("invoices/nope", f"invoices/{encode('ten', new_uuid())}"):
        assert cast.get(cast.admin, address, 404)["code"] == "not_found"


def test_a_plain_member_sees_no_invoices(cast: Cast) -> None:
    made = cast.invoiced()
    for address in ("invoices", f"invoices/{made['id']}", f"invoices/{made['id']}/csv", "ledger"):
        assert cast.get(cast.member, address, 403)["code"] == "forbidden"


def test_only_the_operator_opens_and_closes(cast: Cast) -> None:
    for person in (cast.admin, cast.finance, cast.member):
        for address in ("accounts", "billing-periods/close"):
            assert cast.post(person, address, {}, 403)["code"] == "forbidden"


@pytest.mark.parametrize(
    ("over", "status", "code"),
    [
        ({"starts_at": "yesterday"}, 400, "invalid_input"),
        ({"ends_at": (END + 48 * HOUR).isoformat()}, 409, "period_not_over"),
        ({"ends_at": START.isoformat()}, 422, "invalid"),
        ({"tenant": encode("ten", new_uuid())}, 409, "no_account"),
    ],
)
def test_bad_periods_are_refused(cast: Cast, over: dict[str, Any], status: int, code: str) -> None:
    cast.open(cast.admin)
    assert cast.close(status, **over)["code"] == code
    assert cast.get(cast.admin, "invoices")["items"] == []


def test_a_gap_between_periods_says_where_to_start(cast: Cast) -> None:
    cast.open(cast.admin)
    cast.close(starts_at=(START - HOUR).isoformat(), ends_at=START.isoformat())
    refusal = cast.close(409, starts_at=(START + HOUR / 2).isoformat())
    assert (refusal["code"], refusal["expected"]) == ("period_not_contiguous", START.isoformat())


def test_invoices_come_in_pages(cast: Cast) -> None:
    cast.open(cast.admin)
    spans = [(START - index * HOUR, END - index * HOUR) for index in (2, 1, 0)]
    made = [cast.close(starts_at=start.isoformat(), ends_at=end.isoformat())["number"] for start, end in spans]
    first = cast.get(cast.finance, "invoices?limit=2")
    rest = cast.get(cast.finance, f"invoices?limit=2&cursor={first['next']}")
    assert [row["number"] for row in first["items"] + rest["items"]] == made[::-1]
    assert rest["next"] is None


def test_the_trial_balance_adds_up_for_all_and_for_one(cast: Cast) -> None:
    cast.invoiced()
    for person in (cast.operator, cast.finance):
        rows = cast.get(person, "ledger")["rows"]
        assert {row["code"]: row["balance"] for row in rows} == {"receivable": "0.80", "revenue": "-0.80"}
        assert sum(Decimal(row["balance"]) for row in rows) == 0
