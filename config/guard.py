"""A keeper for one child process: the child never outlives the process that asked for it, kill -9 included.

The launcher starts this file as a small process of its own and holds one end of a pipe. The end of that pipe (or
another parent) means that the launcher is gone, whatever killed it: the keeper then stops the child in order. A
parent-death signal set by the launcher itself would be unsound, as it fires when the *thread* that forked ends; the
keeper has one thread, so it may set one for its child, which covers kill -9 of the keeper.

The keeper side imports the standard library only and runs with `-I -S`, so it starts in about 20 ms.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PARENT_CHECK_S = 1.0
EXEC_FAILED = 127
KEEPER_GONE = -9


class StartFailed(RuntimeError):
    """The keeper could not start the program."""


class Guarded:
    """A running program with its keeper, seen from the launcher.

    `stop_signals` are sent to the program one after the other, each with `grace_s` seconds to end; what is left of
    its process group then gets SIGKILL. `user` is (uid, gid) to drop to; the launcher must be root for it. The program
    gets `pass_fds` under the same numbers.
    """

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        user: tuple[int, int] | None = None,
        stop_signals: Sequence[int] = (signal.SIGTERM,),
        grace_s: float = 10.0,
        pass_fds: Sequence[int] = (),
    ) -> None:
        order: dict[str, Any] = {
            "argv": [str(part) for part in argv],
            "user": user,
            "signals": list(stop_signals),
            "grace_s": grace_s,
        }
        self.log = log
        self._hold = -1
        self._keeper: subprocess.Popen[bytes] | None = None
        try:
            told = self._start(order, env=env, cwd=cwd, pass_fds=pass_fds)
        except BaseException:  # a signal in the middle of the start: what was begun ends too
            self.stop()
            raise
        if not told.isdigit():
            self.stop()
            raise StartFailed(f"{order['argv'][0]}: {told or 'the keeper ended'}; see {log}")
        self.pid = int(told)

    def _start(
        self, order: dict[str, Any], *, env: Mapping[str, str] | None, cwd: Path | None, pass_fds: Sequence[int]
    ) -> str:
        """Start the keeper; its answer is the program's pid, or what went wrong."""
        hold_read, self._hold = os.pipe()
        report_read, report = os.pipe()
        with self.log.open("ab") as sink, os.fdopen(report_read, "rb") as answer:
            try:
                self._keeper = subprocess.Popen(
                    [sys.executable, "-I", "-S", __file__, str(report), str(os.getpid()), json.dumps(order)],
                    stdin=hold_read,
                    stdout=sink,
                    stderr=sink,
                    env=None if env is None else dict(env),
                    cwd=cwd,
                    pass_fds=(report, *pass_fds),
                    start_new_session=True,
                )
            finally:
                os.close(hold_read)
                os.close(report)
            return answer.read().decode()

    @property
    def keeper_pid(self) -> int:
        return self._begun.pid

    @property
    def _begun(self) -> subprocess.Popen[bytes]:
        if self._keeper is None:
            raise StartFailed("the keeper was not started")
        return self._keeper

    def poll(self) -> int | None:
        """The exit status of the program (negative for a signal), or None while it runs."""
        return self._begun.poll()

    def is_running(self) -> bool:
        return self.poll() is None

    def wait(self, timeout_s: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        return self._begun.wait(timeout_s)

    def let_go(self) -> None:
        """Begin the stop and return at once; `wait` sees the end of it."""
        if self._hold >= 0:
            os.close(self._hold)
            self._hold = -1

    def stop(self) -> int:
        """Stop the program in order and wait for its end. Safe to call twice."""
        self.let_go()
        return 0 if self._keeper is None else self._keeper.wait()


# ---- the keeper's side ----------------------------------------------------------------------------------------------


def _become(user: Sequence[int] | None, death_signal: int) -> None:
    os.setsid()
    if user is not None:
        uid, gid = user
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    # After the change of user, which clears it.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)


def _launch(order: dict[str, Any], report: int) -> int:
    """Fork and exec the program; its pid, or the error, goes to the launcher through `report`."""
    fault_read, fault = os.pipe()  # closed by a successful exec
    keeper = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            _become(order["user"], order["signals"][0])
            if os.getppid() != keeper:
                os._exit(EXEC_FAILED)
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.close(report)
            os.execvp(order["argv"][0], order["argv"])  # noqa: S606 - a list, never a shell
        except OSError as error:
            os.write(fault, str(error).encode())
        finally:
            os._exit(EXEC_FAILED)
    os.close(fault)
    with os.fdopen(fault_read, "rb") as pipe:
        fault_text = pipe.read()
    os.write(report, fault_text or str(pid).encode())
    os.close(report)
    return pid


def _ended(pid: int) -> int | None:
    """The child's exit status as subprocess would give it, or None while it runs."""
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def _sleep(wake: int, seconds: float) -> None:
    if select.select([wake], [], [], seconds)[0]:
        os.read(wake, 512)


def _stop(pid: int, order: dict[str, Any], wake: int) -> int:
    for number in [*order["signals"], signal.SIGKILL]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + float(order["grace_s"])
        while time.monotonic() < deadline:
            status = _ended(pid)
            if status is not None:
                return status
            _sleep(wake, 0.2)
    return KEEPER_GONE


def _sweep_group(pid: int) -> None:
    """What the program left in its own process group ends with it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _keep(pid: int, order: dict[str, Any], parent: int, wake: int) -> int:
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    while True:
        status = _ended(pid)
        if status is not None:
            return status
        ready = select.select([0, wake], [], [], PARENT_CHECK_S)[0]
        if wake in ready:
            os.read(wake, 512)
        if 0 in ready or stopping or os.getppid() != parent:
            return _stop(pid, order, wake)


def main() -> None:
    report, parent, order = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.set_inheritable(report, False)
    pid = _launch(order, report)
    status = _keep(pid, order, parent, wake)
    _sweep_group(pid)
    if status < 0:  # die as the program did, so that the launcher sees the same status
        signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -status)
    sys.exit(status)


if __name__ == "__main__":
    main()
