"""What `vxpu-agent status` prints: written by the daemon each second, read by anyone who may read the state folder."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.config import agent_version
from agent.metrics import SliceFigures, exposition, ratio, seconds
from vxpu.units import MIB

if TYPE_CHECKING:
    from agent.devices.inventory import Inventory
    from agent.enforce.port import Enforcer
    from agent.keeper import Keeper
    from agent.spool import Spool

FILE = "status.json"
STALE_S = 10


class NoStatus(RuntimeError):
    """No agent wrote here, or it stopped doing so."""


def describe(
    keeper: Keeper, inventory: Inventory, *, node_id: str, spool: Spool, is_connected: bool, has_authority: bool,
    trouble: str, enforcer: Enforcer,
) -> dict[str, Any]:  # fmt: skip
    """The node in plain values; `leases` has those that ended lately too, with how many windows each made."""
    unsent = keeper.books.unsent()
    leases = {
        record.lease_id: {
            "state": record.state.value, "token": record.token, "version": record.version, "uid": record.uid,
            "device": record.device_key, "memory_mib": record.memory_mib, "share_permille": record.share_permille,
            "gate_closed": record.gate_closed,
            "isolation": record.isolation(enforcer.isolation).value,
            "simulated": record.card is not None and record.card.simulated,
        }
        for record in keeper.state.slices.values()
    }  # fmt: skip
    for lease_id in keeper.state.ended:
        leases.setdefault(lease_id, {"state": "gone"})
    for lease_id, lease in leases.items():
        made = keeper.books.windows_closed(lease_id) or keeper.state.windows_closed.get(lease_id, 0)
        lease |= {"windows_closed": made, "windows_unsent": unsent[lease_id]}
    return {
        "at": int(time.time()), "version": agent_version(), "node_id": node_id, "connected": is_connected,
        "authority": has_authority, "trouble": trouble, "isolation": enforcer.isolation.value,
        "isolation_detail": enforcer.detail, "windows_unsent": spool.pending_count, "spool_full": spool.is_full,
        "windows_dropped": spool.dropped,
        "devices": [report.model_dump(mode="json") for report in
                    inventory.reports(isolation=enforcer.isolation, detail=enforcer.detail,
                                      badge=keeper.cards.sharing.badge)],
        "leases": leases,
    }  # fmt: skip


def metrics_text(keeper: Keeper) -> str:
    figures = []
    for record in keeper.state.slices.values():
        sample = keeper.books.latest(record.lease_id)
        if sample is not None:
            mode = record.isolation(keeper.enforcer.isolation).value
            used = seconds(sample.compute_ns)
            figures.append(SliceFigures(
                lease_id=record.lease_id, device_key=record.device_key, mode=mode,
                memory_limit_bytes=record.memory_mib * MIB, share_ratio=ratio(record.share_permille),
                cpu_seconds=used if record.card is None else None,
                card_seconds=used if record.card is not None else None, throttled_seconds=seconds(sample.throttled_ns),
                memory_bytes=sample.memory_bytes, age_seconds=seconds(time.monotonic_ns() - sample.mono_ns),
            ))  # fmt: skip
    return exposition(figures)


def read(state_dir: Path) -> dict[str, Any]:
    """The last report. Raises NoStatus when there is none or it is older than ten seconds."""
    try:
        report: dict[str, Any] = json.loads((state_dir / FILE).read_text())
    except FileNotFoundError as error:
        raise NoStatus(f"no agent has written to {state_dir}") from error
    age_s = int(time.time()) - report["at"]
    if age_s > STALE_S:
        raise NoStatus(f"the agent has not written to {state_dir} for {age_s} s; is it running?")
    return report
