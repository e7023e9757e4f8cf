"""`make gpu-check`: what only a real driver can show, in at most ten minutes, without changing a setting of the card.

One JSON object a step goes to standard output, a summary to read to standard error. On a machine without a card the
same steps run against a simulated one, and every line says so.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence

from tests.gpu_check import memory, share
from tests.gpu_check.bench import FAKE, Bench, Trouble, has_card, open_bench
from tests.gpu_check.framework import framework_step

Step = Callable[[Bench], dict[str, object]]
LONGEST_S = 600


def steps(*, seconds: float, rounds: int, mib: int, shares: Sequence[int] = share.SHARES) -> dict[str, Step]:
    """By name, in order. `seconds` is how long one share is measured."""
    return {
        "facts": memory.facts,
        "pointer identity": memory.identity,
        "calibration": share.calibrate,
        "hook cost": memory.hook_cost,
        "memory cap": memory.cap,
        "two-process race": lambda bench: memory.race(bench, rounds=rounds),
        "share alone": lambda bench: share.share_alone(bench, seconds=seconds, shares=shares),
        "share together": lambda bench: share.share_together(bench, seconds=seconds),
        "lend and return": lambda bench: share.lend_and_return(bench, seconds=seconds),
        "resize while running": lambda bench: share.resize_running(bench, seconds=seconds),
        "kill -9": share.kill_9,
        "framework": framework_step,
        "suspend and resume": lambda bench: memory.suspend(bench, mib=mib),
    }


def run_step(bench: Bench, name: str, step: Step) -> dict[str, object]:
    began = time.monotonic()
    try:
        facts = step(bench)
    except (Trouble, OSError, ValueError, KeyError) as error:
        facts = {"ok": False, "trouble": f"{type(error).__name__}: {error}"[:400]}
    return {"step": name, "simulated": bench.device.simulated, "seconds": round(time.monotonic() - began, 1), **facts}


def summary(lines: list[dict[str, object]]) -> str:
    """What each step found, to read; a table gets a line a row."""
    told = []
    for line in lines:
        mark = "!!" if line.get("ok") is False else "--" if "skipped" in line else "ok"
        told.append(f"{mark}  {line['step']}  ({line['seconds']} s)")
        told += [row for key, value in line.items() if key not in _NOT_TOLD for row in _rows(key, value)]
    return "\n".join(told)


_NOT_TOLD = {"step", "simulated", "seconds", "ok"}


def _rows(name: str, value: object, *, indent: str = "      ") -> list[str]:
    if not isinstance(value, dict):
        return [f"{indent}{name}: {value}"]
    if any(isinstance(one, dict) for one in value.values()):
        return [
            f"{indent}{name}:",
            *(row for key, one in value.items() for row in _rows(key, one, indent=indent + "  ")),
        ]
    return [f"{indent}{name}: " + ", ".join(f"{key} {one}" for key, one in value.items())]


def check(options: argparse.Namespace) -> int:
    lines: list[dict[str, object]] = []
    began = time.monotonic()
    with open_bench(simulated=options.fake) as bench:
        wanted = steps(seconds=options.seconds, rounds=options.rounds, mib=options.mib, shares=options.shares)
        for name, step in wanted.items():
            if time.monotonic() - began > LONGEST_S:
                line: dict[str, object] = {"step": name, "seconds": 0.0, "skipped": "ten minutes are over"}
            else:
                line = run_step(bench, name, step)
            lines.append(line)
            print(json.dumps(line), flush=True)
    where = "a SIMULATED card: figures of a model, not of hardware" if options.fake else "a real card"
    print(f"\n{summary(lines)}\n\non {where}; {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if any(line.get("ok") is False for line in lines) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fake", action="store_true", help="on a simulated card, even if there is a real one")
    parser.add_argument("--seconds", type=float, default=6, help="how long one share is measured (6)")
    parser.add_argument("--shares", type=int, nargs="+", default=share.SHARES, help="measured alone, in permille")
    parser.add_argument("--rounds", type=int, default=20, help="races for the last bytes (20)")
    parser.add_argument("--mib", type=int, default=4096, help="memory that is suspended and resumed (4096)")
    options = parser.parse_args()
    options.fake = options.fake or not has_card()
    if options.fake and str(FAKE) not in os.environ.get("LD_LIBRARY_PATH", ""):
        # The loader reads the path once, at the start of a process.
        os.environ["LD_LIBRARY_PATH"] = str(FAKE)
        os.execv(sys.executable, [sys.executable, "-m", "tests.gpu_check", "--fake", *sys.argv[1:]])  # noqa: S606
    try:
        return check(options)
    except Trouble as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
