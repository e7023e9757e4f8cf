"""The Python client of the driver API, on a simulated card alone and under the limiter."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.native.conftest import CardRegion, MakeCards
from tests.native.cuda_classes import CLASSES
from tests.native.fake.driver import GIB, MIB, OUT_OF_MEMORY
from tests.native.fake.run import ROOT


def client(env: dict[str, str], *args: str) -> list[dict[str, Any]]:
    words = [sys.executable, "-m", "tests.native.cuda_client", *args]
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_class_comes_and_goes(make_cards: MakeCards) -> None:
    told = client(make_cards().env(None), "--each", "--mib", "32")
    assert [line["class"] for line in told] == list(CLASSES)
    assert {(line["code"], line["left"]) for line in told} == {(0, 0)}
    assert all((line["took"] > 0) == CLASSES[line["class"]].on_card for line in told)


def test_kernels_one_by_one_and_as_a_graph(make_cards: MakeCards) -> None:
    """100 kernels of 10 us each: both take 1 ms of a simulated card, and what lies between them."""
    told = client(make_cards(clock="virtual").env(None), "--launch", "100", "--steps", "10000")
    assert [line["did"] for line in told] == ["launch", "graph"]
    assert all(1.0 <= line["device_ms"] < 1.2 for line in told)


def test_a_fork_before_and_after_the_driver_was_used(make_cards: MakeCards) -> None:
    told = client(make_cards().env(None), "--fork")
    assert [line["init"] for line in told if line["did"] == "fork"] == [0, 0]
    assert told[-1] == {"did": "parent", "used": 300 * MIB}


@pytest.mark.parametrize("name", ["plain", "pool", "mapped", "array", "graph"])
def test_a_full_card_is_out_of_memory(make_cards: MakeCards, name: str) -> None:
    """1,748 MiB are left beside the context: 17 times 100."""
    (told,) = client(make_cards(memory_mib=2048).env(None), "--fill", name, "--mib", "100")
    assert (told["count"], told["code"], told["left"]) == (17, OUT_OF_MEMORY, 0)


def test_each_class_comes_and_goes_under_the_limiter(card_region: CardRegion) -> None:
    """A slice of 2 GiB, of which a context is reserved: all classes work in it, and all is given back."""
    cards, region = card_region(limit=2 * GIB)
    told = client(cards.env(region), "--each", "--mib", "32")
    assert {line["class"]: line["code"] for line in told} == dict.fromkeys(CLASSES, 0)
    assert {line["class"]: line["left"] for line in told} == dict.fromkeys(CLASSES, 0)
    assert region.used() == 0


@pytest.mark.parametrize("name", ["plain", "pool", "mapped", "array", "graph"])
def test_a_full_slice_is_out_of_memory(card_region: CardRegion, name: str) -> None:
    cards, region = card_region(limit=1 * GIB)
    (told,) = client(cards.env(region), "--fill", name, "--mib", "100")
    assert (told["code"], told["left"]) == (OUT_OF_MEMORY, 0)
    assert 1 <= told["count"] <= 10
