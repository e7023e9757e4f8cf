"""offers, device list|show, node list|enrol: what there is to buy, and on what it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import session
from cli.output import Format, say, show_list, show_one

OFFERS = (
    ("id", "id"),
    ("sku", "sku"),
    ("title", "title"),
    ("kind", "device_kind"),
    ("memory MiB>", "slice.memory_mib"),
    ("share ‰>", "slice.share_permille"),
    ("isolation", "isolation"),
    ("simulated", "simulated"),
    ("online>", "devices_online"),
    ("price>", "price.unit_price"),
    ("currency", "price.currency"),
    ("per", "price.unit"),
)
DEVICES = (
    ("id", "id"),
    ("kind", "kind"),
    ("model", "model"),
    ("memory MiB>", "capacity_mib"),
    ("share ‰>", "capacity_permille"),
    ("units>", "compute_units"),
    ("isolation", "isolation"),
    ("simulated", "simulated"),
    ("online", "online"),
)
DEVICE = (
    *DEVICES,
    ("vendor", "vendor"),
    ("isolation detail", "isolation_detail"),
    ("node", "node"),
    ("readings", "readings"),
)
NODES = (
    ("id", "id"),
    ("hostname", "hostname"),
    ("state", "state"),
    ("online", "online"),
    ("agent", "agent_version"),
    ("last seen", "last_seen_at"),
)

device = typer.Typer(help="The cards and processors that slices run on.", no_args_is_help=True)
node = typer.Typer(help="The machines; for operators.", no_args_is_help=True)


def offers(output: session.Output = Format.TABLE) -> None:
    """What is sold: sizes, isolation and price."""
    with session.open_client() as client:
        show_list(client.pages("/offers"), OFFERS, output)


@device.command("list")
def list_devices(output: session.Output = Format.TABLE) -> None:
    """Devices with what may be sold of them."""
    with session.open_client() as client:
        show_list(client.pages("/devices"), DEVICES, output)


@device.command("show")
def show_device(device_id: str, output: session.Output = Format.TABLE) -> None:
    """One device with its readings (value, age, quality)."""
    with session.open_client() as client:
        show_one(client.get(f"/devices/{device_id}"), DEVICE, output)


@node.command("list")
def list_nodes(output: session.Output = Format.TABLE) -> None:
    """Enrolled machines."""
    with session.open_client() as client:
        show_list(client.pages("/nodes"), NODES, output)


@node.command("enrol")
def enrol(
    note: Annotated[str, typer.Option(help="what the machine is, for your records")] = "",
    output: session.Output = Format.TABLE,
) -> None:
    """Make a one-time token that lets one machine join within the hour; it is shown once."""
    with session.open_client() as client:
        made = client.post("/enrolments", {"note": note})
        say(f"on the machine: vxpu-agent enrol --server {client.server}, with the token in a file (--token-file)")
    show_one(made, (("token", "one_time_token"), ("expires at", "expires_at"), ("id", "id")), output)
