"""Guests on a folder of simulated cards, ended with the test."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.native.cards import Cards
from tests.native.fake.guest import Guest

StartGuest = Callable[..., Guest]

NVML = """
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0) if n.nvmlDeviceGetCount() else None
"""


@pytest.fixture
def start() -> Iterator[StartGuest]:
    """start(cards): a guest that has done nothing yet."""
    with contextlib.ExitStack() as stack:
        yield lambda cards, *before, **extra: stack.enter_context(Guest(cards, *before, **extra))


@pytest.fixture
def reader(start: StartGuest) -> StartGuest:
    """A guest with NVML, and card 0 as `h`."""

    def make(cards: Cards, **extra: str) -> Guest:
        guest = start(cards, **extra)
        guest(NVML)
        return guest

    return make


@pytest.fixture
def user(start: StartGuest) -> StartGuest:
    """A guest with a context on device 0."""

    def make(cards: Cards, *before: str, **extra: str) -> Guest:
        guest = start(cards, *before, **extra)
        guest("cuda.start()")
        return guest

    return make
