"""Without root's means: an own file tree and processes where user namespaces work, and the truth about the rest."""

from __future__ import annotations

import sys
import time

from tests.agent.bench import Bench, wait_for


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
