"""Takes CUDA processes off their card and puts them back: ``python -m agent.checkpoint suspend|resume MS PID...``.

A process of its own, short-lived: it loads the driver, which the agent never does, and a driver that hangs is killed
with it. Prints one JSON line: `done`, the pids it acted on, and in words what stood in the way. All or nothing: what
was begun before a failure is undone. Source: the driver API's CUDA Checkpointing (driver 570 / CUDA 12.8 and later).
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Sequence
from ctypes import c_int, c_uint, c_uint64, c_void_p
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

LIBRARY = "libcuda.so.1"
RUNNING, LOCKED, CHECKPOINTED, FAILED = 0, 1, 2, 3
_WORDS = {
    1: "the driver does not know this process", 3: "the driver is not initialised", 100: "no card",
    2: "the card has no room for what was taken off it", 201: "its context is not valid",
    304: "the operating system refused it", 401: "it is in a state from which that cannot be done",
    500: "this driver is too old: it has no checkpoint (570 or later has)", 600: "it did not stop calling in time",
    801: "the driver cannot take this process off: it shares memory with others (IPC, NCCL) or uses managed memory",
}  # fmt: skip


class LockArguments(ctypes.Structure):
    _fields_ = (("timeout_ms", c_uint), ("reserved0", c_uint), ("reserved1", c_uint64 * 7))


class NoCheckpoint(RuntimeError):
    """The driver said no; the text says at what, and why."""


class TooOld(NoCheckpoint):
    """There is no such driver here, so nothing was ever taken off a card."""


@dataclass(slots=True)
class Answer:
    """`undone` False: a step back failed as well, and the process may be stuck."""

    done: bool
    pids: list[int] = field(default_factory=list)
    why: str = ""
    undone: bool = True


class Driver:
    """The five calls. Raises NoCheckpoint."""

    def __init__(self, library: str = LIBRARY) -> None:
        try:
            self._loaded = ctypes.CDLL(library)
        except OSError as error:
            raise TooOld(f"no driver: {error}") from error
        self._call("cuInit", c_uint(0))

    def state(self, pid: int) -> int | None:
        """None: no process that the driver knows."""
        state = c_int(-1)
        try:
            self._call("cuCheckpointProcessGetState", c_int(pid), ctypes.byref(state))
        except TooOld:
            raise
        except NoCheckpoint:
            return None
        return state.value

    def lock(self, pid: int, timeout_ms: int) -> None:
        self._call("cuCheckpointProcessLock", c_int(pid), ctypes.byref(LockArguments(timeout_ms=timeout_ms)))

    def checkpoint(self, pid: int) -> None:
        self._call("cuCheckpointProcessCheckpoint", c_int(pid), c_void_p())

    def restore(self, pid: int) -> None:
        self._call("cuCheckpointProcessRestore", c_int(pid), c_void_p())

    def unlock(self, pid: int) -> None:
        self._call("cuCheckpointProcessUnlock", c_int(pid), c_void_p())

    def _call(self, name: str, *arguments: Any) -> None:
        try:
            function = getattr(self._loaded, name)
        except AttributeError as error:
            raise TooOld(f"{name}: {_WORDS[500]}") from error
        code = function(*arguments)
        if code:
            raise NoCheckpoint(f"{name}: {_WORDS.get(code, f'driver error {code}')} ({code})")


def suspend(driver: Driver, pids: Sequence[int], *, timeout_ms: int) -> Answer:
    """Lock all, then take all off: while one can still call the driver, another's memory may be shared with it."""
    ours = [pid for pid in pids if driver.state(pid) == RUNNING]
    locked: list[int] = []
    taken: list[int] = []
    try:
        for pid in ours:
            _at(pid, partial(driver.lock, pid, timeout_ms))
            locked.append(pid)
        for pid in ours:
            _at(pid, partial(driver.checkpoint, pid))
            taken.append(pid)
    except NoCheckpoint as error:
        undone = _undo(driver, locked, taken)
        return Answer(done=False, why=str(error), undone=undone)
    return Answer(done=True, pids=ours)


def _undo(driver: Driver, locked: Sequence[int], taken: Sequence[int]) -> bool:
    """Every process gets its step back, whatever becomes of the one before it."""
    undone = True
    for pid in locked:
        try:
            if pid in taken or driver.state(pid) == CHECKPOINTED:
                driver.restore(pid)
            driver.unlock(pid)
        except NoCheckpoint:
            undone = False
    return undone


def resume(driver: Driver, pids: Sequence[int]) -> Answer:
    """Put back all that is off the card and let it call again; what is back already stays so at a failure."""
    back = []
    for pid in pids:
        try:
            state = driver.state(pid)
            if state == CHECKPOINTED:
                _at(pid, partial(driver.restore, pid))
            if state in {CHECKPOINTED, LOCKED}:
                _at(pid, partial(driver.unlock, pid))
                back.append(pid)
        except TooOld:
            raise
        except NoCheckpoint as error:
            return Answer(done=False, pids=back, why=str(error), undone=False)
    return Answer(done=True, pids=back)


def _at(pid: int, call: Callable[[], None]) -> None:
    try:
        call()
    except NoCheckpoint as error:
        raise NoCheckpoint(f"process {pid}: {error}") from error


def main(argv: Sequence[str]) -> Answer:
    what, timeout_ms, *pids = argv
    try:
        driver = Driver()
        if what == "suspend":
            return suspend(driver, [int(pid) for pid in pids], timeout_ms=int(timeout_ms))
        return resume(driver, [int(pid) for pid in pids])
    except NoCheckpoint as error:
        return Answer(done=what == "resume" and isinstance(error, TooOld), why=str(error))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(main(sys.argv[1:]))) + "\n")
