"""The slice as a confined place, with real uids, cgroups and namespaces of this machine."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from agent.enforce.port import Holder
from tests.agent.bench import Bench, host_pid_of, wait_for

ROOT = Path(__file__).parents[2]


def test_a_program_runs_as_the_slices_uid_and_its_code_comes_back(strict: Bench) -> None:
    a = strict.make()
    assert strict.shell(a, "id -u; id -G; pwd; exit 3") == (3, "64101\n64101\n/home/slice\n")
    assert strict.shell(a, "kill -9 $$")[0] == 128 + 9
    assert strict.run(a, "no-such-program") == (-1, "no_such_program")


def test_python_of_a_closed_home_works_inside(strict: Bench) -> None:
    a = strict.make()
    code = "import sys, pydantic; print(sys.executable)"
    assert strict.python(a, code) == (0, f"{sys.executable}\n")


def test_two_slices_cannot_see_signal_or_trace_each_other(strict: Bench) -> None:
    a, b = strict.make(), strict.make(lease_id="lse_b", uid=64102)
    sleeper = strict.start(b, "/bin/sleep", "60")
    sleeper.wait_started()
    (victim,) = strict.programs(b)
    probe = f"""
import ctypes, os
def tried(f):
    try: return f()
    except OSError as error: return error.strerror
print(sorted(n for n in os.listdir('/proc') if n.isdigit()) == [str(os.getpid())])
print(tried(lambda: os.kill({victim}, 9)))
print(ctypes.CDLL(None).ptrace(16, {victim}, 0, 0))
print(tried(lambda: open('/proc/{victim}/mem').read()))
"""
    printed = strict.python(a, probe)[1].splitlines()
    assert printed == ["True", "No such process", "-1", "No such file or directory"]
    assert strict.programs(b) == [victim]


def test_even_a_shared_pid_number_gives_no_way_across_uids(strict: Bench) -> None:
    a, b = strict.make(), strict.make(lease_id="lse_b", uid=64102)
    strict.shell(b, "echo secret > /tmp/secret; echo secret > /home/slice/secret; echo x > /dev/shm/secret")
    assert strict.shell(a, "ls -A /tmp /home/slice /dev/shm /var/tmp | grep -c secret") == (1, "0\n")
    scratch = strict.config.run_dir / "slices" / "lse_b" / "scratch" / "home"
    assert strict.shell(a, f"cat {scratch}/secret 2>/dev/null || echo hidden") == (0, "hidden\n")


def test_a_simulated_cards_file_shows_under_dev_wherever_it_lies(strict: Bench, tmp_path: Path) -> None:
    (tmp_path / "vxpu-fake7").write_text("a card\n")
    spec = strict.make(devices=(str(tmp_path / "vxpu-fake7"), "no-such-node"))
    assert strict.shell(spec, "cat /dev/vxpu-fake7; ls /dev | grep -c no-such") == (1, "a card\n0\n")


@pytest.mark.parametrize("script", [
    "echo 9 > /run/vxpu/uid/64101/limits",
    "rm -f /run/vxpu/uid/64101/limits; mv /run/vxpu/uid/64101/usage /tmp/u",
    "ls /sys/fs/cgroup/cpu || ls /sys/fs/cgroup/cgroup.procs",
    "echo x > /etc/ld.so.preload",
    "umount /etc || mount -t tmpfs none /mnt",
    "chmod u+s /bin/sh || su root -c true",
])  # fmt: skip
def test_a_slice_cannot_change_its_own_limits_or_tree(strict: Bench, script: str) -> None:
    a = strict.make()
    before = strict.enforcer.region(a).folder.joinpath("limits").read_bytes()
    assert strict.shell(a, f"{{ {script}; }} 2>/dev/null && echo done || echo refused") == (0, "refused\n")
    assert strict.enforcer.region(a).folder.joinpath("limits").read_bytes() == before


def test_the_agents_state_is_hidden_even_inside_an_exposed_folder(strict: Bench, tmp_path: Path) -> None:
    (strict.config.state_dir / "node.key").write_text("secret")
    tmp_path.chmod(0o755)
    object.__setattr__(strict.config, "expose", (tmp_path,))
    a = strict.make()
    assert strict.shell(a, f"ls {tmp_path}; ls -A {strict.config.state_dir} | wc -l") == (0, "run\nstate\n0\n")


def test_a_stripped_environment_changes_nothing(strict: Bench) -> None:
    library = ROOT / "native" / "build" / "libvxpu.so"
    if not library.exists():
        pytest.skip("the library is not built (make native)")
    object.__setattr__(strict.config, "library", library)
    a = strict.make()
    code, printed = strict.run(a, "/usr/bin/env", "-i", "/bin/cat", "/proc/self/maps")
    assert code == 0
    assert "/run/vxpu/lib/libvxpu.so" in printed


def test_the_kernel_holds_the_share_whatever_the_program_does(strict: Bench) -> None:
    a = strict.make(share_permille=100)
    busy = "import threading,time\nt=time.time()\ndef f():\n while time.time()-t<60: pass\n"
    busy += "[threading.Thread(target=f).start() for _ in range(4)]"
    hog = strict.start(a, "/usr/bin/env", "-i", sys.executable, "-c", busy)
    hog.wait_started()
    time.sleep(0.3)
    before, began = strict.enforcer.sample(a).cpu_ns, time.monotonic_ns()
    time.sleep(2)
    used = strict.enforcer.sample(a).cpu_ns - before
    share = used * 1000 // ((time.monotonic_ns() - began) * a.compute_units)
    assert share <= 120
    hog.leave()


def test_the_kernel_ends_what_takes_more_memory_than_slice_and_runtime(strict: Bench) -> None:
    object.__setattr__(strict.config, "runtime_mib", 32)
    a = strict.make()
    code, printed = strict.python(a, "x = bytearray(200 << 20); print('got it')")
    assert (code, printed) == (128 + 9, "")
    assert strict.enforcer.sample(a).oom_kills >= 1
    assert strict.python(a, "print(1)") == (0, "1\n")


def _ignores_sigterm(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def test_release_ends_a_double_forked_orphan_that_ignores_sigterm(strict: Bench) -> None:
    a = strict.make()
    orphan = (
        "import os, signal, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "time.sleep(600)\n"
    )
    assert strict.python(a, orphan)[0] == 0
    # Whoever came in between ends in a moment, and heeds the signal.
    (pid,) = wait_for(lambda: [one for one in strict.programs(a) if _ignores_sigterm(one)], what="the orphan shows")
    strict.enforcer.terminate(a, reason="released")
    time.sleep(0.2)
    assert strict.enforcer.is_populated(a)
    assert not strict.enforcer.remove(a)
    strict.enforcer.kill(a)
    assert not strict.enforcer.is_populated(a)
    assert not Path(f"/proc/{pid}").exists()


def test_a_fork_bomb_dies_whole(strict: Bench) -> None:
    a = strict.make()
    bomb = strict.start(a, sys.executable, "-c", "import os\nfor _ in range(60):\n os.fork()")
    bomb.wait_started()
    wait_for(lambda: len(strict.programs(a)) > 10, what="the bomb spreads")
    strict.enforcer.kill(a)
    assert not strict.enforcer.is_populated(a)


def test_a_closed_gate_stops_compute_and_keeps_memory(strict: Bench) -> None:
    a = strict.make()
    worker = strict.start(a, sys.executable, "-c", "x = b'1' * (20 << 20)\nwhile True: pass")
    worker.wait_started()
    time.sleep(0.3)
    strict.enforcer.close_gate(a, closed=True)
    time.sleep(0.1)
    stopped = strict.enforcer.sample(a)
    time.sleep(0.5)
    still = strict.enforcer.sample(a)
    assert still.cpu_ns == stopped.cpu_ns
    assert still.memory_bytes > 20 << 20
    strict.enforcer.close_gate(a, closed=False)
    time.sleep(0.3)
    assert strict.enforcer.sample(a).cpu_ns > still.cpu_ns
    worker.leave()


def test_signals_reach_the_program_and_a_dead_client_ends_it(strict: Bench) -> None:
    a = strict.make()
    trap = "trap 'echo caught; exit 7' INT; echo up; while :; do sleep 0.05; done"
    program = strict.start(a, "/bin/sh", "-c", trap)
    program.wait_started()
    time.sleep(0.3)
    program.send({"type": "signal", "signal": int(signal.SIGINT)})
    assert program.wait() == (7, "up\ncaught\n")
    deaf = strict.start(a, "/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.05; done")
    deaf.wait_started()
    deaf.leave()
    wait_for(lambda: not strict.programs(a), what="the program of a dead client ends")


def test_shrinking_below_use_does_not_kill_and_is_finished_later(strict: Bench) -> None:
    object.__setattr__(strict.config, "runtime_mib", 0)
    a = strict.make(memory_mib=256)
    holder = strict.start(a, sys.executable, "-c", "x = b'1' * (100 << 20); import time; time.sleep(60)")
    holder.wait_started()
    wait_for(lambda: strict.enforcer.sample(a).memory_bytes > 100 << 20, what="the memory is taken")
    assert not strict.enforcer.resize(a.resized(memory_mib=32, share_permille=300))
    assert len(strict.programs(a)) == 1
    holder.leave()
    wait_for(lambda: not strict.programs(a), what="it ends")
    assert strict.enforcer.resize(a.resized(memory_mib=32, share_permille=300))


def test_a_running_slice_is_taken_over_and_a_dead_one_made_again(strict: Bench) -> None:
    a = strict.make()
    _, held = strict.made["lse_a"]
    sleeper = strict.start(a, "/bin/sleep", "60")
    sleeper.wait_started()
    assert strict.enforcer.prepare(a, held) == held
    assert len(strict.programs(a)) == 1
    os.kill(held.pid, signal.SIGKILL)
    wait_for(lambda: not strict.enforcer.is_populated(a), what="its namespaces die")
    fresh = strict.enforcer.prepare(a, held)
    assert fresh != held
    strict.made["lse_a"] = (a, fresh)
    assert strict.shell(a, "echo again") == (0, "again\n")


def test_a_slice_that_nobody_remembers_is_found_and_ended(strict: Bench) -> None:
    a = strict.make()
    strict.start(a, "/bin/sleep", "60").wait_started()
    assert strict.enforcer.strangers({"lse_b"}) == ["lse_a"]
    assert strict.enforcer.discard("lse_a")
    assert strict.enforcer.strangers(set()) == []
    del strict.made["lse_a"]


def test_nothing_is_left_after_removal(strict: Bench) -> None:
    a = strict.make()
    strict.shell(a, "echo x > /tmp/x")
    strict.end(a)
    assert str(strict.config.run_dir / "slices" / "lse_a") not in Path("/proc/self/mountinfo").read_text()
    assert list((strict.config.run_dir / "slices").iterdir()) == []
    assert not (strict.config.run_dir / "uid" / "64101").exists()
    assert host_pid_of(str(strict.config.run_dir)) is None
    assert strict.enforcer.holds(a, Holder(1, 1)) is False


def test_a_slice_that_is_not_there_can_be_ended(strict: Bench) -> None:
    a = strict.make()
    strict.end(a)
    strict.enforcer.terminate(a, reason="released")
    assert strict.enforcer.remove(a)
