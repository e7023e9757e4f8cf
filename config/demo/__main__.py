"""Start the whole stack, play the main job, show the receipt; on a terminal the site stays up."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import httpx

from config.demo.acts import book, change_while_running, offer_is_not_imposed, prepare, run_together, second_shift
from config.demo.card_act import play_card, simulated_cards
from config.demo.guests import GuestFailed
from config.demo.host import Watch
from config.demo.numbers import FULL, SETTINGS, Timing
from config.demo.receipt import make_receipt, show_receipt, write_receipt
from config.demo.rest import Api, Refused
from config.demo.screen import Screen
from config.demo.settle import settle
from config.demo.stage import Stage, StoryBroke
from config.interrupts import Interrupted, interrupts
from config.stack import Stack, StackFailed

BROKEN = (StoryBroke, GuestFailed, Refused, httpx.HTTPError, StackFailed)


def play(stack: Stack, screen: Screen, *, out: Path, timing: Timing = FULL) -> bool:
    """The five steps on a running stack; writes receipt and invoices to `out`. True when every promise was kept."""
    with Watch() as watch:
        stage = Stage(
            site=stack.urls["web"], socket=stack.layout.agent_socket, agent_state=stack.layout.agent_state,
            operator=Api(stack.urls["web"], stack.operator_token), screen=screen, timing=timing, watch=watch,
        )  # fmt: skip
        try:
            prepare(stage)
            book(stage)
            guests = run_together(stage)
            change_while_running(stage, guests)
            offer_is_not_imposed(stage)
            second_shift(stage, guests)
            papers, books = settle(stage, out / "invoices")
            receipt = make_receipt(stage, papers, books)
            if simulated_cards(stage):
                play_card(stage, out / "invoices")
        finally:
            stage.end_guests()
    write_receipt(receipt, out / "receipt.json")
    show_receipt(receipt, screen)
    _doors(stack, screen)
    screen.say(f"tenant A {stage.tenants['A'].email}  password {stage.tenants['A'].password}")
    return not screen.broken


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m config.demo", description=__doc__)
    parser.add_argument("--var", type=Path, default=Path("var/demo"), help="data folder (var/demo)")
    parser.add_argument("--no-stay", action="store_true", help="stop at the end, on a terminal too")
    chosen = parser.parse_args(argv)
    screen = Screen()
    stay = sys.stdin.isatty() and sys.stdout.isatty() and not chosen.no_stay
    with suppress(Interrupted), interrupts():
        try:
            return _run(chosen.var, screen, stay=stay)
        except BROKEN as error:
            screen.check("the job runs to its end", False, error)
            return 1
    screen.say("interrupted; nothing is left running")
    return 130


def _run(var: Path, screen: Screen, *, stay: bool) -> int:
    screen.step("The stack: PostgreSQL, Valkey, web, sockets, worker, beat, one node agent")
    with Stack(var=var, env={**os.environ, **SETTINGS}, say=screen.say) as stack:
        _doors(stack, screen)
        kept = play(stack, screen, out=var)
        _verdict(screen, var)
        if stay:
            _stay(stack, screen)
    return 0 if kept else 1


def _doors(stack: Stack, screen: Screen) -> None:
    """How people get to the console."""
    screen.say(f"console  {stack.urls['web']}")
    screen.say(f"operator {stack.operator_login}")


def _verdict(screen: Screen, var: Path) -> None:
    kept = len(screen.checks) - len(screen.broken)
    screen.step(f"{kept} of {len(screen.checks)} promises kept; receipt and invoices in {var}")
    for check in screen.broken:
        screen.say(f"NOT KEPT  {check.promise}: {check.seen}")


def _stay(stack: Stack, screen: Screen) -> None:
    screen.step(f"The site stays up at {stack.urls['web']} (API documentation: {stack.urls['web']}/api/docs)")
    screen.say(f"shell: export VXPU_SERVER={stack.urls['web']} VXPU_TOKEN=$(cat {stack.layout.var}/operator.token)")
    screen.say("then for example: vxpu device list.  Ctrl-C stops everything.")
    with suppress(Interrupted):
        while True:
            signal.pause()


if __name__ == "__main__":
    sys.exit(main())
