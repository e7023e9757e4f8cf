"""Builds the library once and gives each test a region of its own."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.building import build
from tests.native.cards import Cards
from tests.native.guests import guest_env
from tests.native.region import Region

MakeRegion = Callable[..., Region]
MakeEnv = Callable[..., dict[str, str]]
MakeCards = Callable[..., Cards]
CardRegion = Callable[..., tuple[Cards, Region]]


@pytest.fixture(scope="session", autouse=True)
def _built() -> None:
    build("all", "tests")


@pytest.fixture(scope="session")
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One compiled-kernel cache for all guests: they are all ours."""
    return tmp_path_factory.mktemp("pocl")


@pytest.fixture
def make_region(tmp_path: Path) -> MakeRegion:
    def make(name: str = "region", **over: int) -> Region:
        return Region(tmp_path / name, **over)

    return make


@pytest.fixture
def make_env(kernel_cache: Path) -> MakeEnv:
    def make(region: Region | None, *, mode: str = "preload", **extra: str) -> dict[str, str]:
        return guest_env(region, kernel_cache, mode=mode, **extra)

    return make


@pytest.fixture
def ledger_env() -> Callable[[Region], dict[str, str]]:
    """The accounting linked into a test program: no preload, no OpenCL."""
    return lambda region: {"PATH": os.environ["PATH"], "VXPU_REGION_DIR": str(region.path)}


@pytest.fixture
def make_cards(tmp_path: Path) -> MakeCards:
    """A folder of simulated cards: make_cards(count=2, memory_mib=8192, clock="virtual")."""

    def make(name: str = "cards", *, count: int = 1, **options: int | str) -> Cards:
        return Cards(tmp_path / name, count=count, **options)

    return make


@pytest.fixture
def card_region(make_region: MakeRegion, make_cards: MakeCards) -> CardRegion:
    """One simulated card (or `count`) and a slice of all of them: card_region(limit=1 << 30, share=300)."""

    def make(*, count: int = 1, cards: dict[str, int | str] | None = None, **limits: int) -> tuple[Cards, Region]:
        there = make_cards(count=count, **(cards or {}))
        over = {name: limits.pop(name) for name in ("limit", "share", "flags") if name in limits}
        return there, there.grant(make_region(**over), *range(count), **limits)

    return make
