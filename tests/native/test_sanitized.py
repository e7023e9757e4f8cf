"""The limiter's own code under ThreadSanitizer and AddressSanitizer: threads, forks, kills, near the limit.

A sanitizer ends the program with a report at its first finding, so a clean exit is the proof.
"""

import subprocess
from pathlib import Path

import pytest

from tests.native.cards import null_card_region
from tests.native.conftest import MakeRegion
from tests.native.region import MIB, NATIVE, Region

SANITIZERS = ["thread", "address"]


@pytest.fixture(scope="module", autouse=True)
def _built_with_sanitizers(_built: None) -> None:
    subprocess.run(["make", "-s", "-C", str(NATIVE), "sanitized"], check=True, timeout=240)


def run(sanitizer: str, *command: str, region: Region) -> str:
    program = NATIVE / f"build/san-{sanitizer}" / command[0]
    env = {"VXPU_REGION_DIR": str(region.path), "LD_LIBRARY_PATH": str(NATIVE / "build/tests/null")}
    done = subprocess.run(
        [str(program), *command[1:]], env=env, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[:4000]
    return done.stdout


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_threads_near_the_limit_are_clean(sanitizer: str, make_region: MakeRegion) -> None:
    assert run(sanitizer, "ledger", "threads", "5000", region=make_region(limit=MIB)) == "left=0\n"


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_forks_and_kills_are_clean(sanitizer: str, make_region: MakeRegion) -> None:
    told = run(sanitizer, "fuzz", "7", "4", "3000", region=make_region(limit=MIB))
    assert " over=0 uneven=0 crashed=0 left=0" in told


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_charges_shared_by_threads_are_clean(sanitizer: str, make_region: MakeRegion) -> None:
    told = run(sanitizer, "charges", "6", "20000", region=make_region(limit=MIB))
    assert told == "left=0 empty=1\n"


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_threads_at_the_gate_of_a_card_are_clean(sanitizer: str, tmp_path: Path) -> None:
    region = null_card_region(tmp_path)
    assert run(sanitizer, "cuda_race", "5000", region=region) == "launched=40000 counted=40000 in_flight=0\n"
    assert region.usage("measured_ns") == region.usage("debited_ns") > 0
