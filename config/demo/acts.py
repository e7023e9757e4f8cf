"""The main job, step by step: buy, run, resize, release, start by itself. Settling is in `settle`."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

from config.demo.calibrate import calibrate
from config.demo.cast import Tenant, make_tenant, publish_prices, put_on_the_shelf
from config.demo.guests import Guest
from config.demo.measure import Stretch
from config.demo.numbers import SOON_S, WINDOW_S
from config.demo.rest import Refused
from config.demo.stage import Bought, Stage, StoryBroke, instant, iso, sleep_until, wait_until

FAR_S = 600
HOLDING = ("queued", "held", "confirmed", "activating", "active", "ending")
"""States of a reservation that takes room, or will."""
LAST_S = 2
"""How long before its end C stops its program by itself."""
EARLY_S = 8
"""How long before its end B gives its slice back: time enough to offer it to C."""


def prepare(stage: Stage) -> None:
    """Tenants, prices, the device, and what the saturating program takes of it when nothing holds it back."""
    stage.screen.step("Three tenants, a price book, one device")
    _clear(stage)
    stage.device = _device(stage)
    device = stage.device
    kind = "simulated " * bool(device["simulated"]) + str(device["kind"])
    stage.screen.say(
        f"device {device['id']}: {device['model']} ({kind}), {device['capacity_mib']} MiB and "
        f"{device['capacity_permille']} permille for sale, isolation {device['isolation']}"
    )
    price = publish_prices(stage.operator, kind=str(device["kind"]))
    stage.screen.say(f"list price {Decimal(price['unit_price']).normalize():f} {price['currency']} per {price['unit']}")
    stage.screen.say(f"offers: {', '.join(put_on_the_shelf(stage.operator, device))}")
    stage.began_at = math.ceil(time.time())  # the price holds from before this, and nothing was sold yet
    run = format(int(time.time()), "x")
    for letter in "ABC":
        tenant = make_tenant(stage.operator, stage.site, letter, run=run)
        stage.tenants[letter] = tenant
        stage.screen.say(f"tenant {letter}: {tenant.name}, project {tenant.project}, its member and tokens, an account")
        stage.screen.say(f"  log in {tenant.email}  password {tenant.password}")
    stage.calibration = calibrate(seconds=stage.timing.calibration, units=int(device["compute_units"]))
    found = stage.calibration
    stage.screen.say(
        f"the saturating program with no slice around it wants {found.demand_permille} permille of the machine "
        f"(and got {found.got_permille}, beside everything else that runs)"
    )


def _clear(stage: Stage) -> None:
    """Give back what a run that was cut short had booked: it would take the room that this one sells."""
    left = [row for state in HOLDING for row in stage.operator.rows("reservations", state=state)]
    for row in left:
        stage.operator.post(f"reservations/{row['id']}/release")
    if left:
        stage.screen.say(f"released {len(left)} reservations of a run that was cut short")
        wait_until(
            lambda: [row["id"] for state in HOLDING for row in stage.operator.rows("reservations", state=state)],
            lambda rows: not rows,
            what="they end",
            timeout_s=30,
        )


def _device(stage: Stage) -> dict[str, Any]:
    online = [row for row in stage.operator.rows("devices") if row["online"]]
    if not online:
        raise StoryBroke("no device is online")
    # The processor first: every machine has one, and its share can be read in processor time.
    return min(online, key=lambda row: row["kind"] != "cpu")


def book(stage: Stage) -> None:
    """Step 1: A and B get a quarter and a half at once; C is told no with a way on, and takes it."""
    stage.screen.step("1  A reserves 1/4, B 1/2; C asks for 1/2")
    now = math.ceil(time.time())
    b_ends = now + stage.timing.b_ends
    stage.bought["A"] = _reserve(stage, stage.tenants["A"], part=4, ends_at=b_ends + stage.timing.a_outlives)
    stage.bought["B"] = _reserve(stage, stage.tenants["B"], part=2, ends_at=b_ends)
    free_at = _refused(stage, stage.tenants["C"], length=stage.timing.c_length)
    stage.bought["C"] = _reserve(
        stage, stage.tenants["C"], part=2, starts_at=free_at, ends_at=free_at + stage.timing.c_length
    )
    late = stage.bought["C"].starts_at - free_at
    stage.screen.check("C reserves for that time instead", late == 0, iso(stage.bought["C"].starts_at))


def _body(stage: Stage, tenant: Tenant, *, part: int, starts_at: float | None, ends_at: float) -> dict[str, Any]:
    size = {"memory_mib": int(stage.device["capacity_mib"]) // part, "share_permille": 1000 // part}
    return {
        "project": tenant.project, "device": stage.device["id"], "slice": size, "queue": False,
        "starts_at": None if starts_at is None else iso(starts_at), "ends_at": iso(ends_at),
    }  # fmt: skip


def _reserve(stage: Stage, tenant: Tenant, *, part: int, ends_at: float, starts_at: float | None = None) -> Bought:
    body = _body(stage, tenant, part=part, starts_at=starts_at, ends_at=ends_at)
    began = time.monotonic()
    made = tenant.member.post("reservations", body)
    took = round((time.monotonic() - began) * 1000)
    stage.screen.check(f"{tenant.letter}: 1/{part} is booked", made["lease"] is not None, f"{made['id']} in {took} ms")
    return Bought(
        tenant=tenant, reservation=made["id"], lease=made["lease"]["id"], memory_mib=made["slice"]["memory_mib"],
        share_permille=made["slice"]["share_permille"], promised_isolation=str(stage.device["isolation"]),
        starts_at=instant(made["starts_at"]), ends_at=instant(made["ends_at"]),
    )  # fmt: skip


def _refused(stage: Stage, tenant: Tenant, *, length: int) -> float:
    """The time at which C may have its half, as the refusal says it."""
    body = _body(stage, tenant, part=2, starts_at=None, ends_at=math.ceil(time.time()) + length)
    try:
        made = tenant.member.post("reservations", body)
    except Refused as refused:
        said = refused.document
        told = refused.status == 409 and said["code"] == "no_capacity" and bool(said["constraints"])
        stage.screen.check("C: 1/2 is refused with the constraint that failed", told, said["constraints"])
        stage.screen.check("   with the nearest size that fits", bool(said["nearest"]), said["nearest"][:1])
        stage.screen.check("   and the next free time", bool(said["next_free_at"]), said["next_free_at"])
        return instant(said["next_free_at"])
    raise StoryBroke(f"C got {made['id']}, which nobody can deliver")


def become_ready(stage: Stage, letter: str) -> None:
    """Step 2: the agent has learnt of the lease, made the slice real and said so; the meter has started."""
    mine = stage.bought[letter]
    lease = wait_until(
        lambda: mine.tenant.member.get(f"leases/{mine.lease}"), lambda row: row["state"] == "ready",
        what=f"{letter}'s lease becomes ready", timeout_s=30,
    )  # fmt: skip
    after = instant(lease["ready_at"]) - mine.starts_at
    mine.isolation = str(lease["isolation"])
    seen = f"{after:.2f} s after its start"
    stage.screen.check(f"{letter}: the slice is real and the meter runs", after <= SOON_S, seen)
    stage.screen.check(f"{letter}: isolated as promised", mine.isolation == mine.promised_isolation, mine.isolation)


def work(stage: Stage, letter: str) -> Guest:
    """Step 3 for one tenant: probe the memory, recognise digits, then saturate; returns the saturating program."""
    mine = stage.bought[letter]
    stage.run("memory_probe", by=mine)
    stage.run("digits", by=mine)
    guest = stage.start("saturate", "--seconds", str(FAR_S), "--rounds", str(stage.calibration.rounds), by=mine)
    mine.stretches.append(Stretch(guest.wait_steady(), 0, mine.share_permille))
    return guest


def judge_work(stage: Stage, letter: str) -> None:
    """What the programs saw of the slice from inside, against what was bought."""
    mine, check = stage.bought[letter], stage.screen.check
    probe, digits = mine.reports["memory_probe"], mine.reports["digits"]
    seen = f"refused at {probe['refused_at_mib']} MiB of {mine.memory_mib} ({probe['refusal']}), and carried on"
    kept = probe["refused_at_mib"] == mine.memory_mib and probe["carries_on"] and mine.codes["memory_probe"] == 0
    check(f"{letter}: memory ends where the slice ends", kept, seen)
    shown = probe["device_memory_mib"]
    check(f"{letter}: the device shows the slice's memory", shown == mine.memory_mib, f"{shown} MiB")
    found = f"{digits['recognised']} of {digits['images']} digits, distances equal to numpy's: {digits['exact']}"
    check(f"{letter}: the program's result is right", mine.codes["digits"] == 0 and digits["exact"], found)


def run_together(stage: Stage) -> dict[str, Guest]:
    """Steps 2 and 3 for A and B, at the same time."""
    stage.screen.step("2  The agent makes the slices real")
    for letter in "AB":
        become_ready(stage, letter)
    stage.screen.step("3  A and B run programs inside their slices with `vxpu run`")
    both = ThreadPoolExecutor(2)
    try:
        pending = {letter: both.submit(work, stage, letter) for letter in "AB"}
        guests = {letter: each.result() for letter, each in pending.items()}
    finally:
        both.shutdown(wait=False, cancel_futures=True)
    for letter in "AB":
        judge_work(stage, letter)
    return guests


def change_while_running(stage: Stage, guests: dict[str, Guest]) -> None:
    """Step 4: A resizes under its running program, B ends early, C is offered the room and keeps its time."""
    a, b = stage.bought["A"], stage.bought["B"]
    release_at = b.ends_at - EARLY_S
    half = (release_at - time.time()) / 2
    if half < stage.timing.least_steady:
        raise StoryBroke(f"the programs were steady too late to measure: {half:.0f} s are left for a stretch")
    stage.screen.say(f"both saturate; measuring for {half:.0f} s")
    sleep_until(time.time() + half)
    stage.screen.step("4  A resizes while it runs, B releases early, C starts by itself")
    _resize(stage, a)
    sleep_until(release_at)
    _release(stage, b, guests["B"])
    a.stretches[-1] = _closed(a.stretches[-1], time.time())


def _resize(stage: Stage, mine: Bought) -> None:
    smaller = {"memory_mib": mine.memory_mib // 2, "share_permille": mine.share_permille // 2}
    mine.stretches[-1] = _closed(mine.stretches[-1], time.time())
    made = mine.tenant.member.post(f"reservations/{mine.reservation}/resize", {"slice": smaller})
    stage.screen.check("A: resized under its running program", made["slice"] == smaller, smaller)
    # The new size holds from the next whole second; a stretch begins where it surely holds.
    mine.stretches.append(Stretch(time.time() + WINDOW_S, 0, smaller["share_permille"]))


def _release(stage: Stage, mine: Bought, guest: Guest) -> None:
    mine.stretches[-1] = _closed(mine.stretches[-1], time.time())
    finish_saturating(mine, guest)
    mine.tenant.member.post(f"reservations/{mine.reservation}/release")
    lease = wait_until(
        lambda: mine.tenant.member.get(f"leases/{mine.lease}"), lambda row: row["state"] == "gone",
        what="B's lease is gone", timeout_s=15,
    )  # fmt: skip
    early = mine.ends_at - instant(lease["ended_at"])
    stage.screen.check("B: released early", early > 0, f"{early:.1f} s before its end")


def finish_saturating(mine: Bought, guest: Guest) -> None:
    """End the program as a user would, and keep what it said."""
    guest.process.terminate()
    mine.codes["saturate"], mine.reports["saturate"] = guest.finish()


def offer_is_not_imposed(stage: Stage) -> None:
    mine = stage.bought["C"]
    row = wait_until(
        lambda: mine.tenant.member.get(f"reservations/{mine.reservation}"),
        lambda seen: seen["earlier_start_at"] is not None or time.time() > mine.starts_at,
        what="C is offered the earlier time", timeout_s=60,
    )  # fmt: skip
    kept = row["earlier_start_at"] is not None and instant(row["starts_at"]) == mine.starts_at
    stage.screen.check("C: is offered the earlier time, and keeps its own", kept, f"offered {row['earlier_start_at']}")


def second_shift(stage: Stage, guests: dict[str, Guest]) -> None:
    """C's slot starts by itself; A's ends by itself, its program with it."""
    mine, a = stage.bought["C"], stage.bought["A"]
    sleep_until(mine.starts_at)
    become_ready(stage, "C")
    guest = work(stage, "C")
    judge_work(stage, "C")
    _extend_if_late(stage, mine)
    _wait_for_end(a, guests["A"])
    ended = a.codes["saturate"] == 75 and a.reports["saturate"]["right"]
    stage.screen.check("A: its program ended with its time", ended, f"`vxpu run` exit {a.codes['saturate']}")
    sleep_until(mine.ends_at - LAST_S)
    mine.stretches[-1] = _closed(mine.stretches[-1], time.time())
    finish_saturating(mine, guest)
    for letter in "BC":
        done = stage.bought[letter].reports["saturate"]
        seen = f"{done['launches']} kernels"
        stage.screen.check(f"{letter}: the saturating kernels' values are right", done["right"], seen)
    sleep_until(mine.ends_at)


def _extend_if_late(stage: Stage, mine: Bought) -> None:
    """On a slow machine the programs are steady late; nobody waits for the device, so C may keep it longer."""
    wanted = math.ceil(time.time()) + stage.timing.least_steady + WINDOW_S + LAST_S
    if wanted <= mine.ends_at:
        return
    made = mine.tenant.member.post(f"reservations/{mine.reservation}/extend", {"ends_at": iso(wanted)})
    late = wanted - mine.ends_at
    mine.ends_at = instant(made["ends_at"])
    kept = mine.ends_at == wanted
    stage.screen.check(f"{mine.tenant.letter}: extended, for it was slow to be steady", kept, f"by {late:.0f} s")


def _wait_for_end(mine: Bought, guest: Guest) -> None:
    sleep_until(mine.ends_at)
    mine.codes["saturate"], mine.reports["saturate"] = guest.finish(timeout_s=20)


def _closed(stretch: Stretch, at: float) -> Stretch:
    return Stretch(stretch.starts_at, max(at, stretch.starts_at), stretch.share_permille)
