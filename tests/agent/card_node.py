"""A real agent on simulated cards, driven by the peer: slices of cards and programs in them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from agent import shm
from agent.region import Region
from tests.agent.agents import ROOT, Agent, run_in, running_agent
from tests.agent.bench import wait_for
from tests.agent.cards import Cards, build_fake
from tests.building import NATIVE, build
from vxpu.slices import Slice

LIBRARY = NATIVE / "build" / "libvxpu.so"
CLIENT = Path(__file__).with_name("card_client.py")


@dataclass
class CardNode:
    agent: Agent
    cards: Cards
    options: tuple[str, ...] = ()

    def restart(self) -> None:
        """Another agent on the same folders, after this one was killed."""
        told = len(self.agent.peer.syncs)
        with mock.patch.dict(os.environ, self.cards.environment()):
            self.agent.start(*self.options)
        wait_for(lambda: len(self.agent.peer.syncs) > told, what=f"the next sync: {self.agent.said()[-800:]}")

    @property
    def keys(self) -> list[str]:
        return [device.key for device in self.agent.peer.syncs[-1].devices if device.kind == "nvidia"]

    def make(self, lease_id: str = "lse_a", *, memory_mib: int = 1024, share: int = 250, card: int = 0) -> None:
        piece = Slice(memory_mib=memory_mib, share_permille=share)
        self.agent.peer.want(lease_id, device_key=self.keys[card], slice=piece)
        self.agent.wait_state("ready", lease_id)

    def start(self, lease_id: str, *argv: str) -> subprocess.Popen[str]:
        token = self.agent.peer.lease_token(lease_id, fence=self.agent.peer.leases[lease_id].token)
        return run_in(self.agent, lease_id, *argv, token=token)

    def client(self, lease_id: str, mib: int, *, spin_ns: int = 0) -> subprocess.Popen[str]:
        """A program that holds so much of the card, once it says that it does; it waits for nothing more."""
        words = [str(mib), *([str(spin_ns)] if spin_ns else [])]
        program = self.start(lease_id, "/bin/sh", "-c", f"sleep 300 | {sys.executable} {CLIENT} {' '.join(words)}")
        assert program.stdout is not None
        said = program.stdout.readline()
        assert said == "ready\n", (said, program.stderr.read() if program.stderr else "", self.agent.said()[-800:])
        return program

    def region(self, lease_id: str) -> Region:
        uid = self.agent.status()["leases"][lease_id]["uid"]
        return Region(self.agent.config.run_dir / "uid" / str(uid), uid=uid)

    def limits(self, lease_id: str) -> Any:
        return shm.Limits.from_buffer_copy((self.region(lease_id).folder / "limits").read_bytes())

    def used_mib(self, card: int = 0) -> int:
        return int(self.cards.list()[card]["used_bytes"]) >> 20

    def wait_event(self, words: str, lease_id: str = "lse_a", *, seconds: float = 30) -> str:
        def look() -> str:
            return next((event for event in self.agent.peer.told_events(lease_id) if words in event), "")

        return str(wait_for(look, seconds=seconds, what=f"{words}: {self.agent.said()[-1500:]}"))


@contextlib.contextmanager
def card_node(
    folder: Path, *options: str, limited: bool = True, count: int = 1, mode: str = "auto", **cards_over: int
) -> Iterator[CardNode]:
    """`limited` False: an agent whose library is not there, so every program goes past the limiter."""
    if os.geteuid() != 0 and mode != "advisory":
        pytest.skip("slices with own uids need root")
    build_fake()
    if limited and not LIBRARY.exists():
        build("all")
    folder.mkdir()
    cards = Cards.create(folder / "cards", count=count, seed=os.getpid(), **cards_over)
    library = ["--library", str(LIBRARY)] if limited else []
    words = ["--card", "context-mib=300", "--expose", str(ROOT), *library, *options]
    with mock.patch.dict(os.environ, cards.environment()), running_agent(folder, *words, mode=mode) as agent:
        yield CardNode(agent, cards, tuple(words))
