"""SIGKILL at every named point of the CUDA front end: the dead one's bytes are the next one's (case 6)."""

import re
import signal

import pytest

from tests.native.card_guest import OK, Guest, play
from tests.native.conftest import CardRegion
from tests.native.guests import BUILD, run
from tests.native.region import MIB
from tests.native.test_crash import CARD_POINTS

GATE_POINTS = [point for point in CARD_POINTS if re.match(r"(gate|credit|reap|copy)\.", point)]
MEMORY_POINTS = [point for point in CARD_POINTS if point not in GATE_POINTS]
FIELDS = ("used_bytes", "ctx_bytes", "spill_bytes", "host_bytes")


def die_at(point: str, card_region: CardRegion, *command: str, **limits: int) -> None:
    """A guest dies there while another lives; that one then gets all that there is."""
    cards, region = card_region(limit=32 * MIB, soft_bytes=16 * MIB, ctx_bytes=MIB, share=100, **limits)
    with Guest(cards.env(region)) as witness:
        assert witness.do("context 0") == [OK]
        program = [str(BUILD / "tests" / command[0]), *command[1:]]
        dead = run(program, cards.env(region, VXPU_CRASH_AT=point))
        assert dead.returncode == -signal.SIGKILL, (point, dead.returncode, dead.stdout, dead.stderr)
        assert witness.do("handle a 14m 0", "alloc b 16m", "handle-release a", "free b") == [OK] * 4
        witness.leave()
    assert play(cards.env(region), "context 0", "release 0") == [OK, OK]
    assert [region.used(field) for field in FIELDS] == [0, 0, 0, 0]


@pytest.mark.parametrize("point", MEMORY_POINTS)
def test_death_there_returns_every_byte(card_region: CardRegion, point: str) -> None:
    die_at(point, card_region, "cuda_cycles", "crash", "2")


@pytest.mark.parametrize("point", GATE_POINTS)
def test_death_at_the_gate_leaves_it_open_to_others(card_region: CardRegion, point: str) -> None:
    pattern = "copies" if point.startswith("copy.") else "steady"
    die_at(point, card_region, "cuda_work", pattern, "ms=2000", copy_bytes_per_second=MIB)
