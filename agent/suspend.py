"""Suspends slices of cards and brings them back, beside the cycle: a checkpoint may take seconds a gibibyte.

What is tried first takes the slice's processes off the card (agent/checkpoint.py), so that their memory is free for
others meanwhile; the gate is what is left where the driver cannot: nothing computes, and the memory stays. Which of the
two it was goes into an event. A slice whose memory does not fit back yet stays closed and is tried again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.cards import Cards
from agent.config import ROOT
from agent.enforce.port import Enforcer, SliceSpec
from vxpu.units import MIB

LOCK_MS = 10_000
HELPER_S = 120
AGAIN_S = 2.0
NO_WORD = {"done": False, "why": "the helper that speaks with the driver said nothing", "undone": False, "pids": []}


def ask_driver(what: str, pids: Sequence[int]) -> dict[str, Any]:
    """The helper's answer; one that hangs is killed, and that is the answer."""
    command = [sys.executable, "-m", "agent.checkpoint", what, str(LOCK_MS), *map(str, pids)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=HELPER_S, check=True, cwd=ROOT)
        answer: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {**NO_WORD, "why": f"the driver did not answer within {HELPER_S} s"}
    except (subprocess.SubprocessError, OSError, ValueError):
        return dict(NO_WORD)
    return answer


@dataclass(slots=True)
class _Case:
    """One slice. `is_off`: what was done last; `is_busy`: a thread works on it."""

    spec: SliceSpec
    wanted: bool
    is_off: bool
    is_busy: bool = False
    is_forgotten: bool = False
    said: str = ""


@dataclass(slots=True)
class Suspender:
    """One thread a slice, only while there is something to do for it; the last wish counts."""

    enforcer: Enforcer
    cards: Cards
    ask: Callable[[str, Sequence[int]], dict[str, Any]] = ask_driver
    _cases: dict[str, _Case] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _events: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=64))

    def adopt(self, spec: SliceSpec) -> None:
        """A slice that an agent before this one suspended, one way or the other."""
        with self._changed:
            self._cases[spec.lease_id] = _Case(spec, wanted=True, is_off=True)

    def want(self, spec: SliceSpec, *, suspended: bool) -> None:
        with self._changed:
            case = self._cases.setdefault(spec.lease_id, _Case(spec, wanted=False, is_off=False))
            case.spec, case.wanted = spec, suspended
            self._changed.notify_all()
            if case.wanted != case.is_off and not case.is_busy:
                case.is_busy = True
                threading.Thread(target=self._work, args=(case,), name=f"suspend-{spec.lease_id}", daemon=True).start()

    def is_off(self, lease_id: str) -> bool:
        """Whether it is not yet, or no longer, able to compute."""
        with self._changed:
            case = self._cases.get(lease_id)
            return case is not None and (case.is_off or case.is_busy)

    def forget(self, lease_id: str) -> None:
        with self._changed:
            case = self._cases.pop(lease_id, None)
            if case is not None:
                case.is_forgotten = True
                self._changed.notify_all()

    def take_events(self) -> list[tuple[str, str]]:
        found = []
        while self._events:
            found.append(self._events.popleft())
        return found

    def _work(self, case: _Case) -> None:
        while True:
            with self._changed:
                if case.is_forgotten or case.wanted == case.is_off:
                    case.is_busy = False
                    return
                wanted = case.wanted
            try:
                is_done = self._suspend(case) if wanted else self._resume(case)
            except OSError as error:  # the slice goes away under us, or it did already
                self._say(case, f"suspend_failed: {error}" if wanted else f"resume_failed: {error}")
                is_done = False
            with self._changed:
                if is_done:
                    case.is_off = wanted
                elif not case.is_forgotten:
                    self._changed.wait(AGAIN_S)

    def _suspend(self, case: _Case) -> bool:
        """The gate first, so that nothing new is launched; the freezer last, for a frozen process cannot be locked."""
        lease_id, spec = case.spec.lease_id, case.spec
        self.enforcer.region(spec).pause(paused=True)
        self.cards.sample()  # whose the processes are, and what it holds now: a program may have come just before
        self.cards.look()
        users = self.cards.users(lease_id)
        # Whoever is in the group now, and nobody else; the driver knows which of them are its own.
        answer = self.ask("suspend", self.enforcer.processes(spec))
        self.enforcer.close_gate(spec, closed=True)
        if answer["done"]:
            given = sum(users.get(pid, 0) for pid in answer["pids"]) // MIB
            self._say(case, f"suspended: off the card: {len(answer['pids'])} process(es), {given} MiB given back")
        else:
            stuck = "" if answer.get("undone", True) else "; a step back failed: the program may not go on"
            self._say(case, f"suspended: by the gate, memory stays on the card: {answer['why']}{stuck}")
        return True

    def _resume(self, case: _Case) -> bool:
        """Thaw, put back, and only then let it launch. Every process of the group is asked for its state."""
        spec = case.spec
        region = self.enforcer.region(spec)
        self.enforcer.close_gate(spec, closed=False)
        region.pause(paused=True)
        answer = self.ask("resume", self.enforcer.processes(spec))
        if not answer["done"]:
            self.enforcer.close_gate(spec, closed=True)
            self._say(case, f"resume_failed: {answer['why']}; it is tried again")
            return False
        region.pause(paused=False)
        self._say(case, f"resumed: {len(answer['pids'])} process(es) put back on the card")
        return True

    def _say(self, case: _Case, text: str) -> None:
        if text != case.said:
            case.said = text
            self._events.append((case.spec.lease_id, text))
