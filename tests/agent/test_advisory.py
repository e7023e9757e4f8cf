"""Without root's means: an own file tree and processes where user namespaces work, and the truth about the rest."""

from __future__ import annotations

import sys
import time

import pytest

from tests.agent.bench import Bench, make_spec, wait_for


def test_it_says_what_it_is(advisory: Bench) -> None:
    assert advisory.enforcer.isolation == "limiter-advisory"
    assert advisory.enforcer.detail.startswith("under test; ")


def test_programs_run_are_counted_and_end_with_the_slice(advisory: Bench) -> None:
    a = advisory.make(uid=advisory.enforcer.uid)
    assert advisory.run(a, "/bin/sh", "-c", "echo hi; exit 5") == (5, "hi\n")
    burner = advisory.start(a, sys.executable, "-c", "while True: pass")
    burner.wait_started()
    wait_for(lambda: advisory.enforcer.sample(a).cpu_ns >= 200_000_000, what="CPU time is counted")
    advisory.enforcer.kill(a)
    assert not advisory.enforcer.is_populated(a)


def test_what_ended_programs_spent_stays_counted(advisory: Bench) -> None:
    a = advisory.make(uid=advisory.enforcer.uid)
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    assert advisory.run(a, sys.executable, "-c", burn)[0] == 0
    wait_for(lambda: advisory.enforcer.sample(a).cpu_ns >= 480_000_000, what="the dead are counted")


def test_a_closed_gate_stops_the_programs(advisory: Bench) -> None:
    a = advisory.make(uid=advisory.enforcer.uid)
    burner = advisory.start(a, sys.executable, "-c", "while True: pass")
    burner.wait_started()
    advisory.enforcer.close_gate(a, closed=True)
    before = advisory.enforcer.sample(a).cpu_ns
    time.sleep(0.5)
    assert advisory.enforcer.sample(a).cpu_ns <= before + 20_000_000
    advisory.enforcer.close_gate(a, closed=False)
    wait_for(lambda: advisory.enforcer.sample(a).cpu_ns > before + 50_000_000, what="it goes on")


def test_two_slices_of_one_uid_have_regions_and_files_apart(advisory: Bench) -> None:
    if not advisory.enforcer.has_namespaces:
        pytest.skip("no user namespaces here: one slice at a time")
    uid = advisory.enforcer.uid
    a, b = advisory.make(uid=uid), advisory.make(lease_id="lse_b", uid=uid, memory_mib=32)
    advisory.run(b, "/bin/sh", "-c", "echo x > /tmp/x")
    peek = f"stat -c %s /run/vxpu/uid/{uid}/usage; ls /tmp/x 2>/dev/null | wc -l; ls /proc | grep -c '^[0-9]*$'"
    advisory.end(b)
    assert advisory.run(a, "/bin/sh", "-c", peek)[1].startswith("84096\n0\n")
    assert advisory.enforcer.region(a).read_hints().slots == ()


def test_a_slice_that_is_not_there_can_be_ended(advisory: Bench) -> None:
    gone = make_spec(lease_id="lse_gone", uid=advisory.enforcer.uid)
    advisory.enforcer.terminate(gone, reason="released")
    assert advisory.enforcer.remove(gone)
