"""Runs the tests in lanes that fit two cores: quick ones side by side, those that measure or start a stack alone.

`python -m tests.lanes fast alone`; ends with one line that sums the lanes up.
"""

from __future__ import annotations

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
LANES = {
    "fast": ["-n", "2", "-m", "not stack and not native and not soak"],
    # These measure time, or fill the machine themselves.
    "alone": ["-m", "(stack or native) and not soak"],
    "soak": ["-m", "soak"],
    # What one runs between two edits: the pure rooms, the wire, the command line, the house rules.
    "quick": ["-n", "2", "-x", "-m", "not stack and not native and not soak and not django_db", *PURE],
}


def run_lane(name: str) -> tuple[int, Counter[str]]:
    """pytest's exit status, and how many tests passed, failed, were skipped or broke."""
    report = OUT / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *LANES[name]]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    counts: Counter[str] = Counter()
    if report.exists():
        for suite in ET.parse(report).getroot().iter("testsuite"):  # noqa: S314 - our own file
            counts.update({key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")})
    return status, counts


def main(names: list[str]) -> int:
    OUT.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    total: Counter[str] = Counter()
    worst = 0
    for name in names:
        print(f"--- {name} ---", flush=True)
        status, counts = run_lane(name)
        worst = max(worst, status)
        total.update(counts)
    broken = total["failures"] + total["errors"]
    passed = total["tests"] - broken - total["skipped"]
    took = time.monotonic() - began
    print(f"=== {passed} passed, {broken} failed, {total['skipped']} skipped in {took:.0f}s ({', '.join(names)}) ===")
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["fast", "alone"]))
