"""What a hostile or careless guest does beside its limiter is reported, and nobody else is hurt."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from agent import shm
from agent.audit import Audit
from agent.enforce.port import SliceSpec
from agent.host import view_process
from tests.agent.bench import Bench, wait_for

BURN = "import time\nt=time.time()\nwhile time.time()-t<60: pass"


def find(audit: Audit, bench: Bench, spec: SliceSpec, event: str) -> str:
    """The event, found by looking each second for five."""

    def look() -> str:
        time.sleep(1)
        return next((said for said in audit.look(bench.enforcer, spec) if said.startswith(event)), "")

    return str(wait_for(look, seconds=6, what=event))


def test_plain_python_on_the_cores_is_told_within_five_seconds(strict: Bench) -> None:
    a = strict.make(share_permille=400)
    hog = strict.start(a, "/usr/bin/env", "-i", sys.executable, "-c", BURN)
    hog.wait_started()
    audit = Audit()
    assert "(python" in find(audit, strict, a, "unregistered_use")
    time.sleep(1)
    assert audit.look(strict.enforcer, a) == []


def test_a_process_with_a_slot_is_nobody_to_report(strict: Bench) -> None:
    a = strict.make(share_permille=400)
    strict.start(a, sys.executable, "-c", BURN).wait_started()
    (pid,) = strict.programs(a)
    usage_file = strict.enforcer.region(a).folder / "usage"
    usage = shm.Usage.from_buffer_copy(usage_file.read_bytes())
    view = view_process(pid)
    assert view is not None
    slot = usage.slot[0]
    slot.state, slot.ns_pid, slot.start_ticks = shm.SLOT_LIVE, view.ns_pid, view.start_ticks
    usage_file.write_bytes(bytes(usage))
    audit = Audit()
    for _ in range(3):
        time.sleep(1)
        assert audit.look(strict.enforcer, a) == []


def test_a_spoilt_usage_file_is_told_once_and_anothers_pid_in_a_slot_kills_nobody(strict: Bench) -> None:
    a = strict.make()
    audit = Audit()
    script = "import os; os.truncate('/run/vxpu/uid/64101/usage', 7)"
    assert strict.python(a, script) == (0, "")
    assert [event.split(":")[0] for event in audit.look(strict.enforcer, a)] == ["usage_file_damaged"]
    assert audit.look(strict.enforcer, a) == []
    forged = shm.Usage(magic=shm.USAGE_MAGIC, version=shm.ABI_VERSION)
    forged.slot[0].state, forged.slot[0].ns_pid = shm.SLOT_LIVE, os.getpid()
    (strict.enforcer.region(a).folder / "usage").write_bytes(bytes(forged))
    assert audit.look(strict.enforcer, a) == []
    strict.end(a)
    assert Path(f"/proc/{os.getpid()}").exists()


def test_a_kill_at_the_memory_cap_is_told(strict: Bench) -> None:
    object.__setattr__(strict.config, "runtime_mib", 32)
    a = strict.make()
    audit = Audit()
    assert audit.look(strict.enforcer, a) == []
    strict.python(a, "x = bytearray(300 << 20)")
    assert audit.look(strict.enforcer, a)[0].startswith("memory_fence: 1 process(es)")


def test_look_ups_that_the_limiter_does_not_know_are_told_at_each_doubling(strict: Bench) -> None:
    a = strict.make()
    usage_file = strict.enforcer.region(a).folder / "usage"
    audit, told = Audit(), []
    for count in (0, 1, 2, 3, 3, 6, 7):
        usage = shm.Usage.from_buffer_copy(usage_file.read_bytes())
        usage.unknown_symbols = count
        usage_file.write_bytes(bytes(usage))
        told.append([event.split()[1] for event in audit.look(strict.enforcer, a)])
    assert told == [[], ["1"], [], ["3"], [], [], ["7"]]
