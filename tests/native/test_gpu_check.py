"""`make gpu-check` from end to end on a simulated card: every step is carried out, and each line says "simulated"."""

import json
import subprocess
import sys

import pytest

from tests.gpu_check.__main__ import steps
from tests.native.region import NATIVE

pytestmark = pytest.mark.timeout(180)
QUICK = ["--fake", "--seconds", "0.3", "--shares", "250", "--rounds", "2", "--mib", "256"]


def test_every_step_runs_on_a_simulated_card() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.gpu_check", *QUICK], cwd=NATIVE.parent, capture_output=True, text=True,
        check=False, timeout=170,
    )  # fmt: skip
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line["step"] for line in lines] == list(steps(seconds=1, rounds=1, mib=1))
    assert [line for line in lines if line.get("ok") is False] == []
    assert {line["simulated"] for line in lines} == {True}
    assert "SIMULATED card" in ran.stderr
    assert ran.returncode == 0
