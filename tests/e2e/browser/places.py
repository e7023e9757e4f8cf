"""Every page of the console, by whom it is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.e2e.browser.world import World


@dataclass(frozen=True)
class Place:
    """`who` is "nobody", "tenant" or "operator"."""

    name: str
    address: str
    who: str


WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True,
}  # fmt: skip


def places(world: World) -> list[Place]:
    node = world.device["node"]
    return [
        Place("login", "/login", "nobody"),
        Place("home", "/", "tenant"),
        Place("offers", "/offers", "tenant"),
        Place("reserve", "/reserve", "tenant"),
        Place("calendar", "/calendar", "tenant"),
        Place("reservations", "/reservations", "tenant"),
        Place("lease", f"/reservations/{world.live['id']}", "tenant"),
        Place("lease-tomorrow", f"/reservations/{world.tomorrow['id']}", "tenant"),
        Place("cost", "/cost", "tenant"),
        Place("access", "/access", "tenant"),
        Place("events", "/events", "tenant"),
        Place("fleet", "/fleet", "operator"),
        Place("nodes", "/nodes", "operator"),
        Place("node", f"/nodes/{node}", "operator"),
        Place("device", f"/devices/{world.device['id']}", "operator"),
        Place("not-found", "/nowhere", "tenant"),
    ]
