"""The driver's own fence (615 and later): a cgroup's limit on a simulated card's memory."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native.conftest import MakeCards
from tests.native.fake.conftest import StartGuest
from tests.native.fake.driver import GIB, MIB, OUT_OF_MEMORY, SUCCESS
from tests.native.fake.guest import Guest

INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION = 2, 3, 4
NONE = 0xFFFFFFFFFFFFFFFF
ROOT = Path("/sys/fs/cgroup")

PRELUDE = """
def limit(path, soft, hard):
    n.nvmlDeviceSetMemoryLimits_v1(h, n.c_nvmlSetMemoryLimits_v1_t(path.encode(), soft, hard))

def limits(path):
    answer = n.c_nvmlGetMemoryLimits_v1_t(path.encode())
    n.nvmlDeviceGetMemoryLimits_v1(h, answer)
    return [answer.softLimit, answer.hardLimit, answer.currentUsed]
"""


@pytest.fixture
def group() -> Iterator[Path]:
    """A cgroup of v2, or one of v1 that is nobody's business."""
    root = ROOT if (ROOT / "cgroup.controllers").exists() else ROOT / "freezer"
    path = root / f"vxpu-test-limit-{os.getpid()}"
    try:
        path.mkdir()
    except OSError:
        pytest.skip("cgroups can't be written here")
    yield path
    path.rmdir()


def enter(group: Path, guest: Guest) -> None:
    (group / "cgroup.procs").write_text(str(guest.pid))


def leave(guest: Guest) -> None:
    """Ended, so that the cgroup can go."""
    guest.kill()


def test_a_limit_holds_for_all_of_a_cgroup_and_for_nobody_else(
    group: Path, make_cards: MakeCards, reader: StartGuest, start: StartGuest
) -> None:
    cards = make_cards(memory_mib=8192)
    nvml = reader(cards)
    nvml(PRELUDE)
    nvml(f"limit({str(group)!r}, {GIB}, {2 * GIB})")
    one, two, other = (start(cards) for _ in range(3))
    for guest in (one, two):
        enter(group, guest)
    for guest in (one, two, other):
        guest("cuda.start()")

    assert one.code(f"cuda.alloc({GIB})") == SUCCESS
    assert two.code(f"cuda.alloc({GIB})") == OUT_OF_MEMORY
    assert other.code(f"cuda.alloc({4 * GIB})") == SUCCESS
    assert nvml(f"limits({str(group)!r})") == [GIB, 2 * GIB, GIB + 600 * MIB]
    for guest in (one, two):
        leave(guest)


def test_a_limit_reaches_who_runs_already_and_can_be_taken_away(
    group: Path, make_cards: MakeCards, reader: StartGuest, start: StartGuest
) -> None:
    cards = make_cards(memory_mib=8192)
    nvml, guest = reader(cards), start(cards)
    enter(group, guest)
    guest("cuda.start()")
    nvml(PRELUDE)
    nvml(f"limit({str(group)!r}, {GIB}, {GIB})")

    assert guest.code(f"cuda.alloc({GIB})") == OUT_OF_MEMORY
    nvml(f"limit({str(group)!r}, 0, {NONE})")
    assert guest.code(f"cuda.alloc({GIB})") == SUCCESS
    assert nvml(f"limits({str(group)!r})") == [0, NONE, 0]
    leave(guest)


def test_who_may_limit_what(make_cards: MakeCards, reader: StartGuest) -> None:
    cards = make_cards()
    nvml = reader(cards)
    nvml(PRELUDE)

    assert nvml.code(f"limit('/a', {2 * GIB}, {GIB})") == INVALID_ARGUMENT  # the soft one is the lower
    assert nvml.code(f"limit('', {GIB}, {GIB})") == INVALID_ARGUMENT
    assert nvml.code(f"limit('/', {GIB}, {GIB})") == INVALID_ARGUMENT
    assert nvml("limits('/unheard/of')") == [0, NONE, 0]
    cards.set(0, unsupported_memory_limits=1)
    assert nvml.code(f"limit('/a', {GIB}, {GIB})") == NOT_SUPPORTED
    cards.set(0, unsupported_memory_limits=0)
    nvml("os.seteuid(65534)")
    assert nvml.code(f"limit('/a', {GIB}, {GIB})") == NO_PERMISSION
