"""A quarter of a simulated card: bought, limited, metered and billed like any slice, and called simulated all the way.

Played after the main job when the stack has such cards (VXPU_FAKE_CARDS); the end-to-end test plays it too.
"""

from __future__ import annotations

import csv
import io
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.demo.cast import make_tenant, publish_prices, put_on_the_shelf
from config.demo.settle import await_books, close_period, drain, write_files
from config.demo.stage import Bought, Stage, StoryBroke, instant, iso, sleep_until, wait_until

MEMORY_MIB = 2048
SHARE_PERMILLE = 250
WORK_S = 8
LENGTH_S = 120
OUT_OF_MEMORY = 2
STEP_MIB = 64


@dataclass(frozen=True)
class CardPapers:
    """What the tenant has in the end; `report` is what its program saw from inside."""

    device: dict[str, Any]
    report: dict[str, Any]
    usage: dict[str, Any]
    invoice: dict[str, Any]
    csv: str


def simulated_cards(stage: Stage) -> list[dict[str, Any]]:
    return [row for row in stage.operator.rows("devices") if row["online"] and row["simulated"]]


def play_card(stage: Stage, folder: Path) -> CardPapers:
    """D buys a part of the first simulated card, runs a CUDA program in it, gives it back and gets its invoice."""
    cards = simulated_cards(stage)
    if not cards:
        raise StoryBroke("no simulated card is online")
    card = cards[0]
    stage.screen.step(f"6  D buys {SHARE_PERMILLE} permille and {MEMORY_MIB} MiB of a simulated card")
    stage.screen.say(f"device {card['id']}: {card['model']}, isolation {card['isolation']}: {card['isolation_detail']}")
    stage.screen.check("it says that it is simulated", "simulated" in f"{card['model']}".lower(), card["model"])
    stage.began_at = math.ceil(time.time())
    publish_prices(stage.operator, kind=str(card["kind"]))
    stage.screen.say(f"offers: {', '.join(put_on_the_shelf(stage.operator, card))}")
    mine = _buy(stage, card)
    report = _work(stage, mine)
    _give_back(stage, mine)
    return _settle(stage, mine, card, report, folder)


def _buy(stage: Stage, card: dict[str, Any]) -> Bought:
    tenant = make_tenant(stage.operator, stage.site, "D", run=format(int(time.time()), "x"))
    sleep_until(stage.began_at)
    size = {"memory_mib": MEMORY_MIB, "share_permille": SHARE_PERMILLE}
    body = {"project": tenant.project, "device": card["id"], "slice": size, "queue": False,
            "ends_at": iso(math.ceil(time.time()) + LENGTH_S)}  # fmt: skip
    made = tenant.member.post("reservations", body)
    lease = wait_until(
        lambda: tenant.member.get(f"leases/{made['lease']['id']}"), lambda row: row["state"] == "ready",
        what="D's lease becomes ready", timeout_s=30,
    )  # fmt: skip
    stage.screen.check(
        "D: isolated as promised", lease["isolation"] == card["isolation"], f"{lease['isolation']} on {lease['id']}"
    )
    return Bought(
        tenant=tenant, reservation=made["id"], lease=lease["id"], memory_mib=MEMORY_MIB,
        share_permille=SHARE_PERMILLE, promised_isolation=str(card["isolation"]),
        starts_at=instant(made["starts_at"]), ends_at=instant(made["ends_at"]),
    )  # fmt: skip


def _work(stage: Stage, mine: Bought) -> dict[str, Any]:
    code, report = stage.start("card", "--seconds", str(WORK_S), by=mine).finish()
    check = stage.screen.check
    check("D: its CUDA program runs", code == 0, report["name"])
    shown = report["total_mib"] == MEMORY_MIB
    check("D: the card shows the slice's memory", shown, f"{report['total_mib']} MiB, {report['free_mib']} free")
    # The last step may not fit in what is left beside the context; never more than was bought.
    refused = report["refusal"] == OUT_OF_MEMORY
    ends = report["free_mib"] - STEP_MIB <= report["refused_at_mib"] <= report["free_mib"]
    check("D: memory ends where the slice ends", refused and ends, f"refused at {report['refused_at_mib']} MiB")
    got = report["got_permille"]
    check("D: no more of the card's time than was bought", got <= SHARE_PERMILLE + 20, f"{got} permille")
    return report


def _give_back(stage: Stage, mine: Bought) -> None:
    mine.tenant.member.post(f"reservations/{mine.reservation}/release")
    drain(stage, mine)


def _settle(
    stage: Stage, mine: Bought, card: dict[str, Any], report: dict[str, Any], folder: Path
) -> CardPapers:  # fmt: skip
    ends_at = math.ceil(time.time())
    sleep_until(ends_at + 0.2)
    await_books(stage, ends_at, device=card["id"])
    invoice = close_period(stage, mine, ends_at)
    write_files(mine, invoice, folder)
    usage = mine.tenant.member.get(f"leases/{mine.lease}/usage")
    text = mine.tenant.admin.text(f"invoices/{invoice['id']}/csv")
    lines = invoice["lines"]
    said = bool(lines) and invoice["simulated"] and all(line["simulated"] for line in lines)
    rows = list(csv.DictReader(io.StringIO(text)))
    said_in_csv = bool(rows) and all(row["simulated"] == "simulated" for row in rows)
    stage.screen.check("D: each line of the invoice says simulated", said and said_in_csv, f"{len(lines)} lines")
    return CardPapers(card, report, usage, invoice, text)
