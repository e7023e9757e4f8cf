"""SIGKILL at every named point: the bytes of the dead come back (case 6)."""

import re
import signal
from collections.abc import Callable

import pytest

from tests.native.conftest import MakeEnv, MakeRegion
from tests.native.guests import BUILD, run, run_tool
from tests.native.region import MIB, NATIVE, Region

LedgerEnv = Callable[[Region], dict[str, str]]


def named_points(*, of_cards: bool) -> list[str]:
    """The points of the sources; those of cards are hit in test_cuda_crash.py."""
    paths = [path for path in (NATIVE / "src").glob("*.c") if path.name.startswith("cu_") == of_cards]
    found = (re.findall(r'VX_CRASH\("([\w.]+)"\)', path.read_text()) for path in paths)
    return sorted({point for points in found for point in points})


POINTS = named_points(of_cards=False)
CARD_POINTS = named_points(of_cards=True)


def leave_a_dead_slot(region: Region) -> None:
    """What a killed process leaves: live, with bytes, its lock gone, its pid never ours."""
    for field, value in {"state": 2, "ns_pid": 4_190_000, "start_ticks": 1, "suspect_ns": 1}.items():
        region.put("usage", region.slot_offset(0, field), value)
    region.put("usage", region.slot_device_offset(0, "used_bytes"), 6 * MIB)
    region.put("usage", 32, 0)


def die_at(point: str, region: Region, make_env: MakeEnv, ledger_env: LedgerEnv) -> None:
    """A guest dies there; the whole limit is the next one's, and soon."""
    leave_a_dead_slot(region)
    dead = run([str(BUILD / "tests/guest"), "cycle", "20000"], make_env(region, VXPU_CRASH_AT=point))
    assert dead.returncode == -signal.SIGKILL, (dead.returncode, dead.stderr)
    assert run_tool("ledger", "reserve", str(8 * MIB), env=ledger_env(region), timeout=20) == "got=1 free=0"


@pytest.mark.native
@pytest.mark.parametrize("point", POINTS)
def test_death_there_returns_every_byte(
    make_region: MakeRegion, make_env: MakeEnv, ledger_env: LedgerEnv, point: str
) -> None:
    die_at(point, make_region(limit=8 * MIB, share=300), make_env, ledger_env)


def test_the_documentation_lists_exactly_these_points() -> None:
    page = (NATIVE.parent / "docs/native.md").read_text().split("## Crash points")[1]
    assert sorted(re.findall(r"^\| `([a-z]+\.[a-z]+)` \|", page, re.MULTILINE)) == sorted(POINTS + CARD_POINTS)


def test_the_product_build_has_no_crash_points_and_no_region_override() -> None:
    product = (BUILD / "libvxpu.so").read_bytes()
    assert b"VXPU_CRASH_AT" not in product
    assert b"VXPU_REGION_DIR" not in product
