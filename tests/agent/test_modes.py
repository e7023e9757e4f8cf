"""Which mode a card is sold in, what a lease gets, and what a buyer is told: by the card and the operator's word."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.config import CardPolicy
from agent.devices.nvidia import COMPUTE_EXCLUSIVE_PROCESS, NvidiaPort
from agent.devices.port import Badge, Device
from agent.enforce.modes.choose import CardSharing, open_sharing, parse_card_modes
from agent.enforce.modes.port import CannotShare, CardLease, Operator
from agent.memory_fence import MemoryFence
from tests.agent.bench import Bench, make_config
from tests.agent.cards import Cards, build_fake
from tests.agent.test_mig import turn_on
from vxpu.states import DeviceKind, Isolation

QUARTER = CardLease("lse_a", memory_mib=6144, share_permille=250)
WHOLE = CardLease("lse_w", memory_mib=24576, share_permille=1000)
CPU = Device(key="cpu:1", kind=DeviceKind.CPU, model="A CPU", vendor="x", compute_units=8, memory_mib=1, capacity_mib=1,
             capacity_permille=750)  # fmt: skip


@pytest.fixture
def cards(tmp_path: Path) -> Cards:
    build_fake()
    return Cards.create(tmp_path / "cards", 2)


@pytest.fixture
def on_cards(cards: Cards, tmp_path: Path) -> Callable[..., Any]:
    """Run a story with the sharing of two cards; `mig` of them, from the second on, are cut."""

    def run(story: Callable[[CardSharing, Device, Device], Any], *, mig: bool = False, **operator: Any) -> Any:
        def child() -> Any:
            port = NvidiaPort()
            first, second = port.discover()
            if mig:
                turn_on(port, second)
                second = port.refresh(second)
            wishes = Operator(**{"host_is_strict": True, **operator})
            fence = MemoryFence(port, groups=None)
            sharing = CardSharing(port, wishes, fence, state_dir=tmp_path, run_dir=tmp_path)
            return story(sharing, first, second)

        return cards.run(child)

    return run


def test_left_alone_a_card_is_sold_as_it_was_set_up(on_cards: Callable[..., Any]) -> None:
    def story(sharing: CardSharing, first: Device, second: Device) -> Any:
        names = [sharing.mode_of(card).name for card in (first, second)]
        return names, sharing.badge(first), sharing.badge(second), sharing.badge(CPU)

    names, shared, cut, cpu = on_cards(story, mig=True)
    assert names == ["limiter", "mig"]
    assert (shared.isolation, cut.isolation, cpu) == (Isolation.ADVISORY, Isolation.MIG, None)
    assert "the slices have no cgroup v2" in shared.detail or os.geteuid() != 0
    assert shared.detail.endswith("time held by the library in each slice; audited from outside by process")


def test_the_whole_of_a_card_goes_out_with_the_library_inert(on_cards: Callable[..., Any]) -> None:
    def story(sharing: CardSharing, first: Device, second: Device) -> Any:
        return sharing.prepare(WHOLE, first), sharing.prepare(QUARTER, second)

    (name, whole), (other, part) = on_cards(story)
    assert (name, whole.isolation, whole.inert) == ("exclusive", Isolation.EXCLUSIVE, True)
    assert (other, part.isolation, part.inert, part.share_permille) == ("limiter", Isolation.ADVISORY, False, 250)


def test_the_operator_sets_one_card_apart(on_cards: Callable[..., Any], cards: Cards) -> None:
    uuid = cards.list()[1]["uuid"]

    def story(sharing: CardSharing, first: Device, second: Device) -> Any:
        with pytest.raises(CannotShare, match="sold whole only"):
            sharing.prepare(QUARTER, second)
        return sharing.badge(first), sharing.badge(second)

    shared, whole = on_cards(story, mode="limiter", modes={uuid: "exclusive"})
    assert (shared.isolation, whole.isolation) == (Isolation.ADVISORY, Isolation.EXCLUSIVE)


def test_a_wish_that_the_card_cannot_fulfil_sells_nothing_and_says_why(on_cards: Callable[..., Any]) -> None:
    def story(sharing: CardSharing, first: Device, second: Device) -> Any:
        with pytest.raises(CannotShare, match="the operator turns it on"):
            sharing.prepare(QUARTER, first)
        return sharing.badge(first)

    badge = on_cards(story, mode="mig")
    assert badge.isolation == Isolation.ADVISORY
    assert badge.detail.startswith("nothing can be made on this card now: MIG is turned off")


@pytest.mark.parametrize(("strict", "unsupported", "told"), [
    (False, 0, "nothing keeps a program from leaving it"), (True, 1, "the driver lists no processes to audit"),
])  # fmt: skip
def test_without_both_layers_a_card_is_advisory(
    on_cards: Callable[..., Any], cards: Cards, strict: bool, unsupported: int, told: str
) -> None:
    cards.set(unsupported_processes=unsupported)
    badge: Badge = on_cards(lambda sharing, first, _: sharing.badge(first), host_is_strict=strict)
    assert badge.isolation == Isolation.ADVISORY
    assert badge.detail.endswith(told)


def test_the_compute_mode_is_set_only_if_told_and_put_back(on_cards: Callable[..., Any]) -> None:
    def story(sharing: CardSharing, first: Device, second: Device) -> Any:
        port = NvidiaPort()
        seen = []
        sharing.prepare(WHOLE, first)
        seen.append(port.compute_mode(first.uuid))
        sharing.prepare(WHOLE, first)
        sharing.release(WHOLE.lease_id, first, mode="exclusive")
        seen.append(port.compute_mode(first.uuid))
        sharing.prepare(WHOLE, second)
        events = [event.text for event in sharing.forget_others(set())]
        return seen, port.compute_mode(second.uuid), events

    if os.geteuid() != 0:
        pytest.skip("only root sets a compute mode")
    seen, second, events = on_cards(story, sets_compute_mode=True)
    assert (seen, second) == ([COMPUTE_EXCLUSIVE_PROCESS, 0], 0)
    assert events == ["compute_mode: put back after ended lease lse_w"]
    assert (
        on_cards(lambda sharing, first, _: (sharing.prepare(WHOLE, first), NvidiaPort().compute_mode(first.uuid))[1])
        == 0
    )


def test_a_lease_keeps_the_mode_in_which_it_was_made(on_cards: Callable[..., Any]) -> None:
    def story(sharing: CardSharing, first: Device, second: Device) -> Any:
        name, _ = sharing.prepare(QUARTER, first)
        grown = CardLease("lse_a", memory_mib=24576, share_permille=1000)
        resized = sharing.resize(grown, first, mode=name)
        with pytest.raises(CannotShare, match="stays whole until it is released"):
            sharing.resize(QUARTER, first, mode="exclusive")
        return name, resized.inert, sharing.adopt(grown, first, mode=name).share_permille, sharing.tend()

    assert on_cards(story) == ("limiter", False, 1000, [])


def test_what_a_strict_host_gives_a_card(strict: Bench, tmp_path: Path) -> None:
    config = make_config(tmp_path, card_mode="mps,GPU-1=mig", cards=CardPolicy(compute_mode="exclusive"))
    port = NvidiaPort()
    operator = open_sharing(config, port, strict.enforcer).operator
    assert (operator.mode, operator.modes) == ("mps", {"GPU-1": "mig"})
    assert (operator.host_is_strict, operator.sets_compute_mode) == (True, True)


def test_card_modes_are_read_from_words() -> None:
    assert parse_card_modes("") == ("auto", {})
    assert parse_card_modes("mps, GPU-1=mig,GPU-2=exclusive") == ("mps", {"GPU-1": "mig", "GPU-2": "exclusive"})
    with pytest.raises(ValueError, match="'half' is no card mode"):
        parse_card_modes("GPU-1=half")
