"""MIG through NVML on a simulated card: made once, found again after a crash, refused in words."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.devices.mig import Instance, MigCard, cap_nodes
from agent.devices.nvidia import NvidiaPort
from agent.devices.port import Device
from agent.enforce.modes.mig import Mig
from agent.enforce.modes.port import CannotShare, CardLease, Operator
from agent.state import State
from tests.agent.cards import Cards, build_fake
from tests.agent.test_samples import RECORD
from vxpu.states import Isolation
from vxpu.wire.node import MigState

IN_USE = 19
SMALL = CardLease("lse_a", memory_mib=2048, share_permille=140)
THIRD = CardLease("lse_b", memory_mib=8192, share_permille=400)


@pytest.fixture
def cards(tmp_path: Path) -> Cards:
    build_fake()
    return Cards.create(tmp_path / "cards", 1)


@pytest.fixture
def on_card(cards: Cards, tmp_path: Path) -> Callable[..., Any]:
    """Run a story with the mode, its card and what NVML shows of it; MIG is on unless the story turns it on itself."""

    def run(story: Callable[[Mig, Device, MigCard], Any], *, enabled: bool = True) -> Any:
        def child() -> Any:
            port = NvidiaPort()
            device = port.discover()[0]
            if enabled:
                turn_on(port, device)
                device = port.refresh(device)
            return story(Mig(port, tmp_path), device, MigCard(port.nvml, device.uuid))

        return cards.run(child)

    return run


def noted(mig: Mig) -> list[str]:
    return sorted(note.lease_id for note in mig._notes.all())


def turn_on(port: NvidiaPort, device: Device, *, mode: int = 1) -> None:
    """What an operator does (0: turn it off); the agent never does."""
    import pynvml

    port.nvml.order(device.uuid, "mig mode", lambda card: pynvml.nvmlDeviceSetMigMode(card, mode))


def test_the_smallest_shape_that_covers_the_lease_is_made(on_card: Callable[..., Any]) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        return mig.prepare(SMALL, card), mig.prepare(THIRD, card), shown.instances(), card.nodes

    small, third, instances, nodes = on_card(story)
    assert [(small.isolation, small.inert), (third.isolation, third.inert)] == [(Isolation.MIG, False)] * 2
    assert small.environment["CUDA_VISIBLE_DEVICES"].startswith("MIG-")
    assert {one.uuid for one in instances} == {
        grant.environment["CUDA_VISIBLE_DEVICES"] for grant in (small, third)
    }  # fmt: skip
    assert small.share_permille == 140 * 7
    assert third.share_permille == 400 * 7 // 3
    assert small.nodes == nodes
    assert "1 of 7 parts" in small.detail


def test_an_instance_is_found_again_and_not_made_twice(on_card: Callable[..., Any], tmp_path: Path) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        first = mig.prepare(SMALL, card)
        return first, mig.prepare(SMALL, card), shown.instances()

    first, again, instances = on_card(story)
    assert (first, len(instances)) == (again, 1)
    adopted = on_card(lambda mig, card, shown: (mig.adopt(SMALL, card), len(shown.instances())), enabled=False)
    assert adopted == (first, 1)


def test_a_crash_between_the_two_instances_is_mended(on_card: Callable[..., Any]) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        import pynvml

        first = mig.prepare(SMALL, card)
        (made,) = shown.instances()

        def lose_compute(handle: Any) -> None:
            gpu = pynvml.nvmlDeviceGetGpuInstanceById(handle, made.id)
            pynvml.nvmlComputeInstanceDestroy(pynvml.nvmlGpuInstanceGetComputeInstanceById(gpu, made.compute_id))

        mig._port.nvml.order(card.uuid, "crash", lose_compute)
        (half,) = shown.instances()
        return half.uuid, mig.adopt(SMALL, card) == first, len(shown.instances())

    assert on_card(story) == ("", True, 1)


def test_release_gives_the_place_back_and_leaves_others_alone(on_card: Callable[..., Any]) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        strange = shown.create(shown.profiles()[0], start=5, size=1)
        mig.prepare(SMALL, card)
        mig.prepare(THIRD, card)
        mig.release("lse_a", card)
        mig.release("lse_a", card)
        events = mig.forget_others(set())
        return strange, shown.instances(), [event.text for event in events]

    strange, left, events = on_card(story)
    assert left == [strange]
    assert events == ["mig_taken_back: the instance of ended lease lse_b"]


def test_a_full_card_and_too_large_a_lease_are_refused_and_leave_nothing(on_card: Callable[..., Any]) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        said = []
        for lease in (CardLease("huge", 10**6, 100), *(CardLease(f"lse_{n}", 8192, 400) for n in range(3))):
            try:
                mig.prepare(lease, card)
            except CannotShare as error:
                said.append(str(error))
        return said, len(shown.instances()), noted(mig)

    said, made, kept = on_card(story)
    assert said == [
        "no MIG profile of this card covers 1000000 MiB and 100 permille",
        "no place is left on the card for an instance of that size",
    ]
    assert (made, kept) == (2, ["lse_0", "lse_1"])


def test_an_instance_lies_where_it_is_booked_or_waits(on_card: Callable[..., Any]) -> None:
    """The places beside it are booked for others, so no other place will do, free as it may be."""

    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        mig.prepare(SMALL, card)  # of a server that names no place: at the end
        last = shown.instances()[0].start
        said = []
        for lease in (
            replace(SMALL, lease_id="lse_c", slots=(last, last + 1)),
            replace(SMALL, lease_id="lse_d", slots=(1, 4)),
        ):
            with pytest.raises(CannotShare) as error:
                mig.prepare(lease, card)
            said.append(str(error.value))
        mig.prepare(replace(SMALL, lease_id="lse_e", slots=(2, 3)), card)
        mig.release("lse_a", card)
        mig.prepare(replace(SMALL, lease_id="lse_c", slots=(last, last + 1)), card)
        return last, said, sorted(one.start for one in shown.instances()), noted(mig)

    last, said, starts, kept = on_card(story)
    assert said == [
        f"booked for this lease, but still another instance's: memory slot {last}",
        "no MIG profile of this card that covers the lease lies on memory slots 1 to 3",
    ]
    assert (starts, kept) == ([2, last], ["lse_c", "lse_e"])


def test_a_resize_stays_within_the_instance(on_card: Callable[..., Any]) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        mig.prepare(SMALL, card)
        smaller = mig.resize(CardLease("lse_a", 1024, 70), card)
        with pytest.raises(CannotShare, match="cannot change its size while it is in use"):
            mig.resize(CardLease("lse_a", 2048, 300), card)
        return smaller.share_permille, len(shown.instances())

    assert on_card(story) == (490, 1)


def test_the_mode_is_the_operators_to_turn_on(on_card: Callable[..., Any], cards: Cards) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        with pytest.raises(CannotShare, match="the operator turns it on"):
            mig.prepare(SMALL, card)
        return shown._nvml.ask(card.uuid, lambda _: True), card.card.mig if card.card else None

    answered, state = on_card(story, enabled=False)
    assert (answered, state.enabled) == (True, False)


def test_a_card_that_cannot_be_cut_says_so(on_card: Callable[..., Any], cards: Cards) -> None:
    cards.set(unsupported_mig=1)
    why = on_card(lambda mig, card, _: mig.fits(card, Operator()), enabled=False)
    assert why == "the card or its driver has no MIG"


@pytest.mark.parametrize(("call", "kept"), [
    ("nvmlDeviceCreateGpuInstanceWithPlacement", []), ("nvmlGpuInstanceCreateComputeInstance", ["lse_a"]),
])  # fmt: skip
def test_a_refusal_half_way_is_said_and_the_next_try_makes_it(
    on_card: Callable[..., Any], cards: Cards, call: str, kept: list[str]
) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        cards.set(**{f"fail.{call}": IN_USE})
        with pytest.raises(CannotShare, match="processes are running on it"):
            mig.prepare(SMALL, card)
        kept_now = noted(mig)
        grant = mig.prepare(SMALL, card)
        return kept_now, [one.uuid == grant.environment["CUDA_VISIBLE_DEVICES"] for one in shown.instances()]

    assert on_card(story) == (kept, [True])


def test_an_instance_that_was_noted_but_not_made_is_made_at_its_place(
    on_card: Callable[..., Any], tmp_path: Path
) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        mig.prepare(SMALL, card)
        (made,) = shown.instances()
        shown.destroy(made.id)
        shown.destroy(made.id)
        Mig(mig._port, tmp_path).adopt(SMALL, card)
        return made.start, [one.start for one in shown.instances()]

    start, again = on_card(story)
    assert again == [start]


@pytest.mark.parametrize(("state", "why"), [
    (MigState(enabled=False, pending=True), "MIG was turned on but the card waits for a reset"),
    (MigState(enabled=True, pending=False), "MIG was turned off but the card waits for a reset"),
])  # fmt: skip
def test_a_card_that_waits_for_a_reset_is_not_reset_by_us(
    on_card: Callable[..., Any], state: MigState, why: str
) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        waiting = replace(card, card=card.card and card.card.model_copy(update={"mig": state}))
        with pytest.raises(CannotShare) as refused:
            mig.prepare(SMALL, waiting)
        return str(refused.value), noted(mig)

    said, notes = on_card(story, enabled=False)
    assert said == f"{why}, which is the operator's to do"
    assert notes == []


def test_mig_turned_off_under_a_lease_is_said(on_card: Callable[..., Any]) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        mig.prepare(SMALL, card)
        (made,) = shown.instances()
        shown.destroy(made.id)
        turn_on(mig._port, card, mode=0)
        with pytest.raises(CannotShare) as refused:
            mig.adopt(SMALL, card)
        mig.release("lse_a", card)
        return str(refused.value), noted(mig)

    assert on_card(story) == ("MIG instances: the card or the driver cannot do it", [])


def test_a_card_that_is_gone_does_not_hold_a_leases_end_up(on_card: Callable[..., Any], cards: Cards) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        mig.prepare(SMALL, card)
        cards.set(lost=1)
        mig.release("lse_a", card)
        waiting = mig.tend(), noted(mig)
        cards.set(lost=0)
        again = Mig(NvidiaPort(), mig._notes._path.parent)
        return waiting, [event.text for event in again.tend()], shown_again(again, card), again.tend()

    def shown_again(mig: Mig, card: Device) -> int:
        return len(MigCard(mig._port.nvml, card.uuid).instances())

    waiting, events, left, quiet = on_card(story)
    assert waiting == ([], ["lse_a"])
    assert events == ["mig_taken_back: the instance of ended lease lse_a"]
    assert (left, quiet) == (0, [])


def test_a_guest_sees_its_instance_and_keeps_it_while_it_lives(on_card: Callable[..., Any]) -> None:
    def story(mig: Mig, card: Device, shown: MigCard) -> Any:
        grant = mig.prepare(SMALL, card)
        environment = {**os.environ, **grant.environment}
        too_much = subprocess.run(guest("20000"), env=environment, capture_output=True, text=True, check=False)
        with subprocess.Popen(guest("100"), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == b"ready\n"
            with pytest.raises(CannotShare, match="processes are running on it"):
                mig.release("lse_a", card)
            held = len(shown.instances())
            running.communicate()
        mig.release("lse_a", card)
        return too_much.stderr, held, len(shown.instances())

    assert on_card(story) == ("cuMemAlloc_v2: 2\n", 1, 0)


def guest(*words: str) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("card_client.py")), *words]


def test_the_nodes_of_an_instance_come_from_the_drivers_list(tmp_path: Path) -> None:
    listed = tmp_path / "mig-minors"
    listed.write_text("config 1\nmonitor 2\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\ngpu1/gi1/access 147\n")
    instance = Instance(id=1, profile_id=19, start=0, size=1, compute_id=0, uuid="MIG-1")
    assert cap_nodes(0, instance, minors=listed) == ("nvidia-caps/nvidia-cap12", "nvidia-caps/nvidia-cap13")
    assert cap_nodes(0, instance, minors=tmp_path / "absent") == ()


def test_a_slice_keeps_its_place_through_a_restart_of_the_agent(tmp_path: Path) -> None:
    state = State(tmp_path / "state.json")
    state.put(replace(RECORD, slots=(4, 6)))
    state.put(replace(RECORD, lease_id="lse_of_before"))
    found = State.load(tmp_path / "state.json").slices
    assert (found[RECORD.lease_id].slots, found["lse_of_before"].slots) == ((4, 6), None)
