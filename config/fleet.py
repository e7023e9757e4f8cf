"""A stack with a simulated fleet on it, to look at: `python -m config.fleet` is `make fleet`. Ctrl-C ends both."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from config.interrupts import Interrupted, interrupts
from config.stack import Stack, StackFailed

ROOT = Path(__file__).resolve().parents[1]
STOP_S = 120.0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(*, var: Path, devices: int) -> int:
    """Until interrupted; the exit code of the simulation if that ends first."""
    with Stack(var=var, say=_say, agent=False) as stack:
        _say(f"site   {stack.urls['web']}/fleet")
        _say(f"log in {stack.operator_login}")
        command = [sys.executable, "manage.py", "simulate_fleet", "--devices", str(devices)]
        # A session of its own: Ctrl-C on the terminal reaches us alone, and we end it while the database still runs.
        fleet = subprocess.Popen(command, cwd=ROOT, env=stack.env, start_new_session=True)
        try:
            return fleet.wait()
        finally:
            fleet.terminate()
            fleet.wait(STOP_S)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m config.fleet", description=__doc__)
    parser.add_argument("--var", type=Path, default=Path(os.environ.get("VXPU_VAR", "var/fleet")), help="data folder")
    parser.add_argument("--devices", type=int, default=1000, help="how many (1000)")
    chosen = parser.parse_args(argv)
    with contextlib.suppress(Interrupted), interrupts():
        try:
            return run(var=chosen.var, devices=chosen.devices)
        except StackFailed as error:
            _say(f"error: {error}")
            return 1
    _say("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
