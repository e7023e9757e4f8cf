"""Who plays: three tenants, each with a project, a member, tokens and an account; and the price book."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from config.demo.numbers import CURRENCY, DEVICE_HOUR_PRICE, ZONE
from config.demo.rest import Api

BOOK = "Demonstration list"
MEMBER_SCOPES = ["reservation:write", "lease:write", "billing:read", "identity:read"]
PRESETS = (8, 4, 2)
NAMES = {"A": "Aurora Robotics", "B": "Baltic Bioinformatics", "C": "Cobalt Weather", "D": "Delta Genomics"}


@dataclass(frozen=True)
class Tenant:
    """One customer: `admin` set it up, `member` buys and runs; `email` and `password` are the admin's log-in."""

    letter: str
    name: str
    id: str
    project: str
    admin: Api
    member: Api
    email: str
    password: str


def make_tenant(operator: Api, site: str, letter: str, *, run: str) -> Tenant:
    """A new tenant, as an operator, then its admin, would set it up. `run` keeps the names of two runs apart."""
    name, slug = f"{NAMES[letter]} ({run})", f"{NAMES[letter].split()[0].lower()}-{run}"
    email, password = f"admin@{slug}.example", secrets.token_urlsafe(12)
    made = operator.post("tenants", {"name": name, "slug": slug, "admin_email": email, "admin_name": "Ada Admin"})
    admin = Api(site, made["token"]["secret"])
    admin.post("me/password", {"new": password})
    project = admin.post("projects", {"name": "Experiments", "slug": "experiments"})["id"]
    joined = admin.post(
        "members",
        {"email": f"member@{slug}.example", "name": "Max Member", "role": "member", "project": project},
    )
    token = admin.post(
        "tokens",
        {
            "name": "workstation", "user": joined["user"]["id"], "scopes": MEMBER_SCOPES,
            "expires_at": (datetime.now(UTC) + timedelta(days=1)).isoformat(),
        },
    )  # fmt: skip
    tenant = made["tenant"]["id"]
    operator.post("accounts", {"tenant": tenant, "name": name, "currency": CURRENCY, "zone": ZONE})
    return Tenant(letter, name, tenant, project, admin, Api(site, token["secret"]), email, password)


def publish_prices(operator: Api, *, kind: str) -> dict[str, Any]:
    """The list price of a whole device and hour of this kind, made once; the same on every later run."""
    book = _find(operator.rows("price-books"), BOOK) or operator.post(
        "price-books", {"name": BOOK, "currency": CURRENCY}
    )
    prices: Sequence[dict[str, Any]] = operator.rows(f"price-books/{book['id']}/prices")
    known = [
        price for price in prices if (price["sku"], price["meter"], price["valid_until"]) == (kind, "delivered", None)
    ]
    if known:
        return dict(known[0])
    body = {"sku": kind, "meter": "delivered", "unit_price": DEVICE_HOUR_PRICE}
    return dict(operator.post(f"price-books/{book['id']}/prices", body))


def put_on_the_shelf(operator: Api, device: dict[str, Any]) -> list[str]:
    """Offers of this device's kind by their usual sizes, made once; returns their names."""
    known = {offer["sku"] for offer in operator.rows("offers")}
    kind = str(device["kind"])
    for part in PRESETS:
        sku = f"{kind}-1-{part}"
        if sku not in known:
            size = {"memory_mib": int(device["capacity_mib"]) // part, "share_permille": 1000 // part}
            title = f"1/{part} of a {kind} device"
            operator.post(
                "offers",
                {"sku": sku, "title": title, "profile": f"1/{part}", "slice": size, "device_kind": kind},
            )
    return [f"{kind}-1-{part}" for part in PRESETS]


def _find(rows: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    return next((row for row in rows if row["name"] == name), None)
