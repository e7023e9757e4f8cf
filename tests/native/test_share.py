"""The share through a real runtime (cases 14, 16, 19, 20).

Upper bounds are tight, since the layer owes them; lower ones are wide, since the machine may be busy.
"""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.native.conftest import MakeEnv, MakeRegion
from tests.native.guests import BUILD, figures, run_tool
from tests.native.region import MIB, Region

UNITS = 2
GUEST = str(BUILD / "tests/guest")
LOOPS = 20_000


def permille(out: str) -> int:
    """Of the device, the last launch apart: its debt falls on whoever launches next."""
    got = figures(out)
    return 1000 * got["cpu_ms"] * (got["launches"] - 1) // got["launches"] // (got["wall_ms"] * UNITS)


@pytest.fixture
def warm(make_env: MakeEnv) -> None:
    """The kernel's binary is in the cache, so that no test measures a compiler."""
    run_tool("guest", "short", "1", env=make_env(None, mode="none"))


@pytest.mark.native
@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("loops", [LOOPS // 4, -LOOPS // 4, LOOPS], ids=["async", "sync", "long"])
def test_one_program_gets_its_share(make_region: MakeRegion, make_env: MakeEnv, loops: int) -> None:
    env = make_env(make_region(share=250), GUEST_MS="2500")
    assert 40 <= permille(run_tool("guest", "busy", str(loops), env=env)) <= 300


@pytest.mark.native
@pytest.mark.usefixtures("warm")
def test_two_processes_of_a_slice_share_one_bucket(make_region: MakeRegion, make_env: MakeEnv) -> None:
    env = make_env(make_region(share=300), GUEST_MS="2500")
    command = [GUEST, "busy", str(LOOPS)]
    pair = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outs = [guest.communicate(timeout=60)[0] for guest in pair]
    assert 50 <= sum(permille(out) for out in outs) <= 360


@pytest.mark.native
@pytest.mark.usefixtures("warm")
def test_short_processes_do_not_run_free(make_region: MakeRegion, make_env: MakeEnv) -> None:
    free = make_region("free", share=1000)
    run_tool("guest", "short", str(LOOPS), env=make_env(free))
    one = free.usage("debited_ns")
    region = make_region(share=100)
    env = make_env(region)
    began = time.monotonic_ns()
    for _ in range(8):
        run_tool("guest", "short", str(LOOPS), env=env)
    wall = time.monotonic_ns() - began
    debited = region.usage("debited_ns")
    assert debited > 8 * one * 0.6
    # The last one's debt is not waited for, and one burst is free.
    assert debited * 7 / 8 <= wall * UNITS * 0.1 + 20_000_000


@pytest.mark.parametrize("program", ["user-event", "held-read"])
def test_launches_behind_a_user_event_are_not_held(make_region: MakeRegion, make_env: MakeEnv, program: str) -> None:
    assert run_tool("guest", program, "100", env=make_env(make_region())) == "bad=0 then=0"


def test_work_enqueued_by_a_callback_is_charged_but_never_held(make_region: MakeRegion, make_env: MakeEnv) -> None:
    region = make_region(share=1)
    assert run_tool("guest", "callback", "1000", env=make_env(region)) == "1 0"
    assert region.usage("launches") == 2


@pytest.fixture
def waiter(make_region: MakeRegion, make_env: MakeEnv, warm: None) -> Iterator[tuple[Region, subprocess.Popen[bytes]]]:
    """A guest deep in debt: about a minute of waiting at one permille."""
    region = make_region(share=1)
    guest = subprocess.Popen([GUEST, "busy", str(-LOOPS)], env=make_env(region, GUEST_MS="1500"))
    deadline = time.monotonic() + 20
    while region.usage("budget_ns") >= -5_000_000 and time.monotonic() < deadline:
        time.sleep(0.02)
    yield region, guest
    guest.kill()
    guest.wait()


@pytest.mark.native
def test_a_larger_share_wakes_a_waiter(waiter: tuple[Region, subprocess.Popen[bytes]]) -> None:
    region, guest = waiter
    time.sleep(0.3)
    assert guest.poll() is None
    region.set(share_permille=1000)
    assert guest.wait(timeout=20) == 0


@pytest.mark.native
def test_pause_holds_launches_until_it_is_lifted(waiter: tuple[Region, subprocess.Popen[bytes]]) -> None:
    region, guest = waiter
    region.set(pause=1, share_permille=1000)
    launches = region.usage("launches")
    time.sleep(0.6)
    assert guest.poll() is None
    assert region.usage("launches") <= launches + 1
    region.set(pause=0)
    assert guest.wait(timeout=20) == 0


@pytest.mark.native
def test_a_closed_lease_frees_a_waiter(waiter: tuple[Region, subprocess.Popen[bytes]]) -> None:
    region, guest = waiter
    region.flag(2)
    assert guest.wait(timeout=20) == 0


@pytest.mark.native
def test_a_guest_killed_asleep_in_the_layer_leaves_nothing(
    waiter: tuple[Region, subprocess.Popen[bytes]], ledger_env: Callable[[Region], dict[str, str]]
) -> None:
    region, guest = waiter
    assert guest.poll() is None
    guest.kill()
    assert guest.wait() == -signal.SIGKILL
    assert run_tool("ledger", "reserve", str(64 * MIB), env=ledger_env(region)) == "got=1 free=0"


@pytest.mark.native
@pytest.mark.usefixtures("warm")
def test_a_guest_killed_under_an_unreaped_kernel_leaves_nothing(
    make_region: MakeRegion, make_env: MakeEnv, ledger_env: Callable[[Region], dict[str, str]]
) -> None:
    region = make_region()
    dead = subprocess.run(
        [GUEST, "busy", str(LOOPS)], env=make_env(region, GUEST_MS="1500", VXPU_CRASH_AT="launch.tracked"), check=False
    )
    assert dead.returncode == -signal.SIGKILL
    assert run_tool("ledger", "reserve", str(64 * MIB), env=ledger_env(region)) == "got=1 free=0"


@pytest.mark.native
@pytest.mark.usefixtures("warm")
def test_what_the_agent_debits_is_waited_for(make_region: MakeRegion, make_env: MakeEnv) -> None:
    region = make_region(share=500)
    region.set(agent_debit_ns=1_000_000_000)
    began = time.monotonic()
    run_tool("guest", "short", "100", env=make_env(region))
    assert time.monotonic() - began > 0.9
    assert region.usage("agent_debit_seen_ns") == 1_000_000_000
