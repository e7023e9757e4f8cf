"""Builds the library once and gives each test a region of its own."""

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.guests import guest_env
from tests.native.region import NATIVE, Region

MakeRegion = Callable[..., Region]
MakeEnv = Callable[..., dict[str, str]]


@pytest.fixture(scope="session", autouse=True)
def _built() -> None:
    (NATIVE / "build").mkdir(exist_ok=True)
    with (NATIVE / "build/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test workers and benchmarks build the same folder
        _make()


def _make() -> None:
    subprocess.run(["make", "-s", "-C", str(NATIVE), "all", "tests"], check=True, timeout=110)


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
