"""The receipt: what was promised and what was delivered, on screen and in ``receipt.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from config.demo.measure import Interval, interval_of, steady_windows
from config.demo.numbers import TOLERANCE_PERMILLE, WINDOW_S
from config.demo.screen import Screen
from config.demo.settle import Settled
from config.demo.stage import Stage


def intervals_of(stage: Stage, paper: Settled) -> list[Interval]:
    """One interval a stretch, from the node's windows; a stretch without a steady part is a broken promise."""
    found = []
    for stretch in paper.bought.stretches:
        windows = steady_windows(paper.usage["windows"], stretch, window_s=WINDOW_S)
        if not windows:
            seen = f"{stretch.ends_at - stretch.starts_at:.1f} s at {stretch.share_permille} permille"
            stage.screen.check(f"{paper.bought.tenant.letter}: a stretch is long enough to measure", False, seen)
            continue
        found.append(
            interval_of(
                windows, stretch, demand_permille=stage.calibration.demand_permille,
                idle_permille=stage.watch.idle_permille,
                tolerance_permille=TOLERANCE_PERMILLE,
            )
        )  # fmt: skip
    return found


def judge_intervals(stage: Stage, letter: str, intervals: list[Interval]) -> None:
    for one in intervals:
        kept = one.is_kept(tolerance_permille=TOLERANCE_PERMILLE)
        seen = f"{one.share_got_permille} permille of {one.share_permille} bought and {one.demand_permille} wanted"
        if one.contended:
            seen += f", contended: no more than {one.promised_permille} could be had"
        stage.screen.check(f"{letter}: share delivered", kept, seen)


def tenant_row(paper: Settled, intervals: list[Interval], device: str) -> dict[str, Any]:
    mine, invoice = paper.bought, paper.invoice
    return {
        "tenant": mine.tenant.name,
        "device": device,
        "memory_mib": mine.memory_mib,
        "memory_refused_at_mib": mine.reports["memory_probe"]["refused_at_mib"],
        "result_ok": mine.codes["digits"] == 0 and bool(mine.reports["saturate"]["right"]),
        "intervals": [one.as_json() for one in intervals],
        "permille_seconds_reserved": paper.quantity("used", "idle", "reserved"),
        "permille_seconds_used": int(paper.usage["used_permille_s"]),
        "windows_sent": paper.windows_sent,
        "windows_counted": int(paper.usage["windows_counted"]),
        "isolation": mine.isolation,
        "invoice": invoice["number"],
        "currency": invoice["currency"],
        "total": str(invoice["total"]),
    }


def device_row(device: dict[str, Any], books: dict[str, Any]) -> dict[str, Any]:
    return {
        "device": device["id"],
        "kind": device["kind"],
        "simulated": device["simulated"],
        "cost": str(books["cost"]),
        "charged": str(books["charged"]),
        "idle": str(books["idle"]),
        "over_recovery": str(books["over_recovery"]),
    }


def make_receipt(stage: Stage, papers: list[Settled], books: dict[str, Any]) -> dict[str, Any]:
    """The whole receipt; each interval is judged on the way."""
    tenants = []
    for paper in papers:
        intervals = intervals_of(stage, paper)
        judge_intervals(stage, paper.bought.tenant.letter, intervals)
        tenants.append(tenant_row(paper, intervals, stage.device["id"]))
    return {"tenants": tenants, "devices": [device_row(stage.device, books)]}


def write_receipt(receipt: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(receipt, indent=2) + "\n")


def show_receipt(receipt: dict[str, Any], screen: Screen) -> None:
    """Four small tables: what each tenant got, over which time, what it pays, and how the device adds up."""
    tenants = receipt["tenants"]
    for table in (_delivered(tenants), _intervals(tenants), _money(tenants), _devices(receipt["devices"])):
        screen.console.print()
        screen.console.print(table)


def _table(title: str, *columns: str) -> Table:
    """Columns that end in ``>`` are numbers, aligned right."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1)
    )
    for column in columns:
        table.add_column(column.rstrip(">"), justify="right" if column.endswith(">") else "left", overflow="fold")
    return table


def _delivered(rows: list[dict[str, Any]]) -> Table:
    table = _table(
        "Delivered", "tenant", "memory MiB>", "refused at>", "result", "isolation", "windows sent>", "counted>"
    )
    for row in rows:
        table.add_row(
            row["tenant"],
            str(row["memory_mib"]),
            str(row["memory_refused_at_mib"]),
            "right" if row["result_ok"] else "WRONG",
            row["isolation"],
            str(row["windows_sent"]),
            str(row["windows_counted"]),
        )
    return table


def _intervals(rows: list[dict[str, Any]]) -> Table:
    table = _table("Compute share, permille", "tenant", "from (UTC)", "to", "bought>", "wanted>", "got>", "")
    for row in rows:
        for one in row["intervals"]:
            table.add_row(
                row["tenant"],
                one["from"][11:19],
                one["to"][11:19],
                str(one["share_permille"]),
                str(one["demand_permille"]),
                str(one["share_got_permille"]),
                "contended" if one["contended"] else "",
            )
    return table


def _money(rows: list[dict[str, Any]]) -> Table:
    table = _table("Billed, permille-seconds", "tenant", "reserved>", "used>", "invoice", "total>", "")
    for row in rows:
        reserved, used = str(row["permille_seconds_reserved"]), str(row["permille_seconds_used"])
        table.add_row(row["tenant"], reserved, used, row["invoice"], row["total"], row["currency"])
    return table


def _devices(rows: list[dict[str, Any]]) -> Table:
    table = _table(
        "Device: charged + idle - over-recovery = cost", "device", "kind", "charged>", "idle>", "over>", "cost>"
    )
    for row in rows:
        kind = f"{row['kind']} (simulated)" if row["simulated"] else row["kind"]
        table.add_row(row["device"], kind, row["charged"], row["idle"], row["over_recovery"], row["cost"])
    return table
