"""Benches of this machine's enforcers; each says why when it cannot be had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.config import Config
from agent.enforce.advisory import open_advisory
from agent.enforce.launcher import Launcher
from agent.enforce.port import Enforcer, Unavailable
from agent.enforce.strict import open_strict
from tests.agent.bench import Bench, open_bench


def _strict(config: Config, launcher: Launcher) -> Enforcer:
    try:
        return open_strict(config, launcher)
    except Unavailable as reason:
        pytest.skip(f"no strict mode on this machine: {reason}")


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Bench]:
    """Slices with own uids, cgroups and namespaces; no library, so that only the fence is under test."""
    yield from open_bench(tmp_path, _strict)


@pytest.fixture
def advisory(tmp_path: Path) -> Iterator[Bench]:
    """Slices without root's means."""
    yield from open_bench(tmp_path, lambda config, launcher: open_advisory(config, launcher, why="under test"))
