"""Step 5: every window has arrived, the period is closed, each tenant has one invoice, and the device adds up."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from config.demo.node_books import node_count
from config.demo.stage import Bought, Stage, iso, sleep_until, wait_until

LETTERS = ("A", "B", "C")
SAME_READS = 4


@dataclass(frozen=True)
class Settled:
    """The papers of one tenant."""

    bought: Bought
    usage: dict[str, Any]
    windows_sent: int
    invoice: dict[str, Any]

    def quantity(self, *kinds: str) -> int:
        """Permille-seconds on the invoice's lines of these kinds."""
        return sum(int(line["quantity"]) for line in self.invoice["lines"] if line["kind"] in kinds)


def settle(stage: Stage, folder: Path) -> tuple[list[Settled], dict[str, Any]]:
    """(each tenant's papers, the reconciliation of the device over the same period)."""
    stage.screen.step("5  The billing period is closed")
    sent = {letter: drain(stage, stage.bought[letter]) for letter in LETTERS}
    ends_at = math.ceil(time.time())
    sleep_until(ends_at + 0.2)
    books = await_books(stage, ends_at, device=stage.device["id"])
    papers = []
    _empty(folder)
    for letter in LETTERS:
        mine = stage.bought[letter]
        invoice = close_period(stage, mine, ends_at)
        write_files(mine, invoice, folder)
        usage = mine.tenant.member.get(f"leases/{mine.lease}/usage")
        papers.append(Settled(mine, usage, sent[letter], invoice))
    books = _reconciliation(stage, ends_at, stage.device["id"])
    judge(stage, papers, books)
    return papers, books


def drain(stage: Stage, mine: Bought) -> int:
    """Windows that the node sent for this lease, once it has no more to send. Raises StoryBroke."""
    wait_until(
        lambda: mine.tenant.member.get(f"leases/{mine.lease}"),
        lambda row: row["state"] == "gone",
        what=f"{mine.tenant.letter}'s lease ends",
        timeout_s=20,
    )
    seen = wait_until(
        lambda: node_count(stage.agent_state, mine.lease),
        lambda count: count.closed > 0 and count.unsent == 0,
        what="the node has sent every window",
        timeout_s=20,
    )
    return seen.sent


def await_books(stage: Stage, ends_at: float, *, device: str) -> dict[str, Any]:
    """Rating runs behind the facts; the books are ready when they no longer change."""
    last: list[dict[str, Any]] = []

    def settled(seen: dict[str, Any]) -> bool:
        last.append(seen)
        return len(last) >= SAME_READS and all(one == seen for one in last[-SAME_READS:])

    return wait_until(lambda: _reconciliation(stage, ends_at, device), settled, what="rating is done", timeout_s=30)


def _reconciliation(stage: Stage, ends_at: float, device: str) -> dict[str, Any]:
    query = {"device": device, "from": iso(stage.began_at), "to": iso(ends_at)}
    return dict(stage.operator.get("reconciliation", **query))


def close_period(stage: Stage, mine: Bought, ends_at: float) -> dict[str, Any]:
    period = {"tenant": mine.tenant.id, "starts_at": iso(stage.began_at), "ends_at": iso(ends_at)}
    made = stage.operator.post("billing-periods/close", period)
    again = stage.operator.post("billing-periods/close", period)
    listed = mine.tenant.admin.rows("invoices")
    one = len(listed) == 1 and made["id"] == again["id"] == listed[0]["id"]
    stage.screen.check(
        f"{mine.tenant.letter}: one invoice", one, f"{made['number']}  {made['total']} {made['currency']}"
    )
    return dict(mine.tenant.admin.get(f"invoices/{made['id']}"))


def _empty(folder: Path) -> None:
    """The folder shows this run's invoices; those of earlier runs are in the database."""
    for file in folder.glob("*-INV-*"):
        file.unlink()


def write_files(mine: Bought, invoice: dict[str, Any], folder: Path) -> None:
    """The invoice in every format that there is."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{mine.tenant.letter}-{invoice['number']}"
    (folder / f"{name}.json").write_text(json.dumps(invoice, indent=2) + "\n")
    (folder / f"{name}.csv").write_text(mine.tenant.admin.text(f"invoices/{invoice['id']}/csv"))


def judge(stage: Stage, papers: list[Settled], books: dict[str, Any]) -> None:
    check = stage.screen.check
    for one in papers:
        letter, counted = one.bought.tenant.letter, int(one.usage["windows_counted"])
        seen = f"{one.windows_sent} sent, {counted} counted"
        check(f"{letter}: no window lost, none counted twice", one.windows_sent == counted > 0, seen)
        total = sum((Decimal(line["amount"]) for line in one.invoice["lines"]), Decimal(0))
        check(f"{letter}: the lines add up to the total", total == Decimal(one.invoice["total"]), f"{total}")
        csv_total = _csv_total(one.bought.tenant.admin.text(f"invoices/{one.invoice['id']}/csv"))
        check(f"{letter}: the CSV file has the same figures", csv_total == total, f"{csv_total}")
    kinds = {line["kind"] for one in papers for line in one.invoice["lines"]}
    check("lines for used, idle and reserved time", kinds == {"used", "idle", "reserved"}, ", ".join(sorted(kinds)))
    balance = stage.operator.get("ledger")
    check("the ledger is balanced", _is_balanced(balance), f"{len(balance['rows'])} accounts")
    cost, sum_ = Decimal(books["cost"]), _sum(books)
    check("charged + idle - over_recovery = cost", cost == sum_, f"{sum_} = {cost} {books['currency']}")
    parts = books["permille_seconds"]
    exact = f"{parts['charged']} + {parts['idle']} - {parts['over_recovery']} = {parts['total']} permille-seconds"
    check("the same in integers, before any rounding", parts["cut"] == 0, exact)
    invoiced = sum((Decimal(one.invoice["total"]) for one in papers), Decimal(0))
    reserved = sum(
        (Decimal(x["amount"]) for one in papers for x in one.invoice["lines"] if x["kind"] == "reserved"), Decimal(0)
    )
    check("what was charged is what was invoiced", Decimal(books["charged"]) == invoiced - reserved, f"{invoiced}")


def _sum(books: dict[str, Any]) -> Decimal:
    return Decimal(books["charged"]) + Decimal(books["idle"]) - Decimal(books["over_recovery"])


def _csv_total(text: str) -> Decimal:
    return sum((Decimal(row["amount"]) for row in csv.DictReader(io.StringIO(text))), Decimal(0))


def _is_balanced(balance: dict[str, Any]) -> bool:
    sums: dict[str, Decimal] = {}
    for row in balance["rows"]:
        sums[row["currency"]] = sums.get(row["currency"], Decimal(0)) + Decimal(row["balance"])
    return all(total == 0 for total in sums.values())
