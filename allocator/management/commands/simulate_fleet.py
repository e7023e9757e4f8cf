"""`manage.py simulate_fleet --devices 1000`: racks of machines that do not exist, to see a large fleet."""

from __future__ import annotations

import argparse
import math
import signal
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from allocator.management.simulated.fleet import SimulatedFleet
from plumbing.rowsec import system_scope

MAX_DEVICES = 20_000


def _devices(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MAX_DEVICES:
        raise argparse.ArgumentTypeError(f"a fleet has 1 to {MAX_DEVICES} devices")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not number >= 0:
        raise argparse.ArgumentTypeError("seconds are not negative")
    return number


class Command(BaseCommand):
    help = (
        "Simulated machines through the same services as real ones: they enrol, run leases of simulated tenants and "
        "report. They say 'simulated' everywhere, and go when the command ends unless --keep is given."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--devices", type=_devices, default=1000, help="how many (1000)")
        parser.add_argument("--keep", action="store_true", help="leave them at the end; they fall silent then")
        parser.add_argument("--seconds", type=_seconds, default=math.inf, help="end after so long (never)")
        parser.add_argument("--idle", action="store_true", help="without tenants: all of it can be bought")
        parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same fleet (1)")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        fleet = SimulatedFleet(
            devices=options["devices"], seed=options["seed"], say=self.stdout.write, idle=options["idle"]
        )
        with system_scope():
            try:
                fleet.build()
                self.stdout.write("The simulated fleet runs; Ctrl-C ends it.")
                fleet.live(until=time.monotonic() + options["seconds"])
            except KeyboardInterrupt:
                self.stdout.write("interrupted")
            finally:
                if not options["keep"]:
                    fleet.take_down()
                    self.stdout.write("The simulated fleet is gone.")
