"""Simulated cards in a folder, and how guests are started on them under the limiter."""

import json
import os
import subprocess
import uuid
from pathlib import Path

from tests.native.guests import LIBRARY
from tests.native.region import NATIVE, Region

FAKE = NATIVE / "build/fake"
CARD_KIND = 1


NULL_UUID_HIGH, NULL_UUID_LOW = 0x0102030405060708, 0x090A0B0C0D0E0F10


def null_card_region(folder: Path) -> Region:
    """A slice of the card of native/tests/cuda_null.c, so wide that nothing waits: what is timed there is the hook."""
    region = Region(folder / "null-region", limit=1 << 40, share=1000)
    region.set(kind=CARD_KIND, uuid_high=NULL_UUID_HIGH, uuid_low=NULL_UUID_LOW, compute_units=4096)
    return region


class Cards:
    """A folder of simulated cards."""

    preload = str(LIBRARY)

    def __init__(self, path: Path, *, count: int = 1, **options: int | str) -> None:
        self.path = path
        path.mkdir()
        words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        self._control("create", "--cards", str(count), *words)

    def _control(self, verb: str, *args: str) -> str:
        command = [str(FAKE / "vxpu-fake-card"), verb, "--dir", str(self.path), *args]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout

    def list(self) -> list[dict[str, object]]:
        cards: list[dict[str, object]] = json.loads(self._control("list"))
        return cards

    def uuid(self, card: int = 0) -> str:
        return str(self.list()[card]["uuid"])

    def used_bytes(self, card: int = 0) -> int:
        return int(str(self.list()[card]["used_bytes"]))

    def set(self, card: int = 0, **knobs: int) -> None:
        self._control("set", "--card", str(card), *(f"{name}={value}" for name, value in knobs.items()))

    def fail(self, call: str, code: int, *, times: int = 1, card: int = 0) -> None:
        """Let the driver's next calls of that name answer `code`."""
        self._control("set", "--card", str(card), f"fail.{call}={code}:{times}")

    def grant(self, region: Region, *cards: int, **limits: int) -> Region:
        """Make the region one of these cards, each with the same limits as device 0 unless given."""
        region.devices(len(cards))
        for index, card in enumerate(cards):
            words = uuid.UUID(self.uuid(card).removeprefix("GPU-")).bytes
            region.set(
                index,
                kind=CARD_KIND,
                compute_units=1,
                uuid_high=int.from_bytes(words[:8]),
                uuid_low=int.from_bytes(words[8:]),
                **limits,
            )
        return region

    def env(self, region: Region | None, **extra: str) -> dict[str, str]:
        """A guest that finds the simulated driver first, under the limiter when there is a region."""
        env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(FAKE), "VXPU_FAKE_DIR": str(self.path)} | extra
        if region is not None:
            env |= {"LD_PRELOAD": self.preload, "VXPU_REGION_DIR": str(region.path)}
        return env
