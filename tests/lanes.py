"""Runs the tests in lanes that fit two cores: quick ones side by side, those that measure or start a stack alone.

`python -m tests.lanes fast alone web browser`; ends with one line that sums the lanes up. `web` are the console's own
tests (Vitest). `browser` needs Chromium: where there is none and none can be installed, the lane says so and runs none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "var" / "test"
PURE = [
    "tests/architecture", "tests/allocator/engine", "tests/cli", "tests/wire",
    *(f"tests/billing/test_{what}.py" for what in ("credits", "exports", "lines", "money", "periods", "proration")),
    *(f"tests/marketplace/test_rating_{what}.py" for what in ("items", "spans")),
    *(f"tests/agent/test_{what}.py" for what in ("clock", "meter", "reconcile")),
]  # fmt: skip
# Where such tests are (tests/architecture sees to it): collecting all the others takes its time too.
ALONE = ["tests/config", "tests/e2e", "tests/native", "tests/plumbing"]
LANES = {
    # Three on two cores: many of these wait for an agent or a clock.
    "fast": ["-n", "3", "-m", "not stack and not native and not soak and not browser"],
    # These measure time, or fill the machine themselves.
    "alone": ["-m", "(stack or native) and not soak and not browser", *ALONE],
    "browser": ["-m", "browser and not soak", "tests/e2e/browser"],
    "soak": ["-m", "soak"],
    # Every property with examples that nobody has seen.
    "wild": ["-n", "2", "-m", "hypothesis and not soak", "--hypothesis-profile=wild"],
    # What one runs between two edits: the pure rooms, the wire, the command line, the house rules.
    "quick": ["-n", "2", "-x", "-m", "not stack and not native and not soak and not browser and not django_db", *PURE],
}


def command_of(name: str, report: Path) -> list[str]:
    """What runs the lane and leaves a JUnit file."""
    if name == "web":
        vitest = ["npm", "--prefix", "frontend", "test", "--silent", "--", "--reporter=default", "--reporter=junit"]
        return ["deploy/node.sh", sys.executable, *vitest, f"--outputFile.junit={report}"]
    return [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *LANES[name]]


def find_browser() -> str:
    """The path of Chromium, installed first where that can be done; empty (and said) if there is none."""
    found = subprocess.run(["deploy/chromium.sh"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return found.stdout.strip()


def run_lane(name: str) -> tuple[int, Counter[str]]:
    """The runner's exit status, and how many tests passed, failed, were skipped or broke."""
    report = OUT / f"{name}.xml"
    report.unlink(missing_ok=True)
    status = subprocess.run(command_of(name, report), cwd=ROOT, check=False).returncode
    counts: Counter[str] = Counter()
    if report.exists():
        for suite in ET.parse(report).getroot().iter("testsuite"):  # noqa: S314 - our own file
            counts.update({key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")})
    return status, counts


def run_lanes(names: list[str]) -> tuple[int, Counter[str], list[str]]:
    """The worst exit status, the sums, and what is to be said of each lane."""
    total: Counter[str] = Counter()
    worst, told = 0, []
    for name in names:
        print(f"--- {name} ---", flush=True)
        began = time.monotonic()
        if name == "browser":
            os.environ["VXPU_CHROMIUM"] = find_browser()
            if not os.environ["VXPU_CHROMIUM"]:
                told.append("browser DID NOT RUN")
                continue
        status, counts = run_lane(name)
        worst = max(worst, status)
        total.update(counts)
        told.append(f"{name} {time.monotonic() - began:.0f}s")
    return worst, total, told


def main(names: list[str]) -> int:
    OUT.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    worst, total, told = run_lanes(names)
    broken = total["failures"] + total["errors"]
    passed = total["tests"] - broken - total["skipped"]
    took = time.monotonic() - began
    print(f"=== {passed} passed, {broken} failed, {total['skipped']} skipped in {took:.0f}s ({', '.join(told)}) ===")
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["fast", "alone", "web", "browser"]))
