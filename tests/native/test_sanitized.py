"""The limiter's own code under ThreadSanitizer and AddressSanitizer: threads, forks, kills, near the limit.

A sanitizer ends the program with a report at its first finding, so a clean exit is the proof.
"""

import subprocess
from pathlib import Path

import pytest

from tests.building import build
from tests.native.card_guest import OK, OUT_OF_MEMORY, Guest
from tests.native.cards import null_card_region
from tests.native.conftest import CardRegion, MakeRegion
from tests.native.region import MIB, NATIVE, Region

SANITIZERS = ["thread", "address"]
SUPPRESSED = Path(__file__).parent / "data/tsan-suppressions.txt"
# A program that leaves the driver's objects behind is no leak of ours.
OPTIONS = {"TSAN_OPTIONS": f"suppressions={SUPPRESSED} print_suppressions=0", "ASAN_OPTIONS": "detect_leaks=0"}


@pytest.fixture(scope="module", autouse=True)
def _built_with_sanitizers(_built: None) -> None:
    build("sanitized")


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
    # A batch whose context is forgotten before its end keeps its credit charged, and counts only what it spent.
    assert 0 < region.usage("measured_ns") <= region.usage("debited_ns")


CROWDS = [
    "cuda_crowd storm 6 5",
    "cuda_crowd reset 6 40",
    "cuda_crowd captures 40 20",
    "cuda_crowd stale 3",
    "cuda_crowd absurd",
    "cuda_crowd wrong",
    "cuda_crowd starts",
    "cuda_work steady threads=4 streams=4 ms=60 ns=50000",
    "cuda_work graph ms=40 ns=10000 kernels=20",
    "cuda_work callback count=4",
    "cuda_work copies ms=20",
    "cuda_work fork",
]


@pytest.mark.parametrize("words", CROWDS)
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_programs_on_a_card_are_clean(sanitizer: str, words: str, card_region: CardRegion) -> None:
    cards, region = card_region(limit=2048 * MIB, share=700, ctx_bytes=300 * MIB)
    name, *options = words.split()
    done = subprocess.run(
        [str(NATIVE / f"build/san-{sanitizer}" / name), *options],
        env=cards.env(region) | OPTIONS | {"LD_PRELOAD": ""}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[:4000]
    assert region.used("used_bytes") <= 2 * MIB  # what "copies" keeps to its end


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_every_class_of_memory_is_clean(sanitizer: str, card_region: CardRegion) -> None:
    cards, region = card_region(limit=1024 * MIB, soft_bytes=512 * MIB, ctx_bytes=100 * MIB)
    env = cards.env(region) | OPTIONS | {"LD_PRELOAD": ""}
    with Guest(env, NATIVE / f"build/san-{sanitizer}/cuda_memory") as guest:
        assert guest.do("context 0", "alloc a 300m", "alloc s 300m", "alloc t 300m") == [OK, OK, OK, OUT_OF_MEMORY]
        assert guest.do("free a", "free s", "stream s", "async b 1m s", "free-async b s", "sync") == [OK] * 6
        assert guest.do("pool p", "from c 3m p s", "pool-destroy p", "free-async c s") == [OK] * 4
        assert guest.do("handle h 64m 0", "map m h", "retain r m", "handle-release h") == [OK] * 4
        assert guest.do("graph g", "node-alloc n g 64m 0", "node-free g n", "instantiate e g") == [OK] * 4
        assert guest.do("launch e s", "exec-destroy e", "managed d 2m", "reset 0") == [OK] * 4
        assert guest.leave() == 0
