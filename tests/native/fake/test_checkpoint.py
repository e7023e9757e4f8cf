"""Checkpoints on a simulated card: memory leaves and comes back, from each state to the next only."""

import pytest

from tests.native.cards import Cards
from tests.native.conftest import MakeCards
from tests.native.fake.conftest import StartGuest
from tests.native.fake.driver import GIB, INVALID_VALUE, MIB, NOT_SUPPORTED, OUT_OF_MEMORY, SUCCESS
from tests.native.fake.guest import Guest

RUNNING, LOCKED, CHECKPOINTED = 0, 1, 2
ILLEGAL_STATE, NOT_READY = 401, 600


class Operator:
    """Calls the checkpoint API on one guest."""

    def __init__(self, guest: Guest, target: Guest) -> None:
        self.guest, self.pid = guest, target.pid

    def __call__(self, verb: str, args: str = "None") -> int:
        return self.guest.number(f"cuda.call('cuCheckpointProcess{verb}', {self.pid}, {args})")

    def state(self) -> int:
        self.guest("state = ctypes.c_int(-1)")
        self.guest(f"cuda.must('cuCheckpointProcessGetState', {self.pid}, ctypes.byref(state))")
        return self.guest.number("state.value")


@pytest.fixture
def cards(make_cards: MakeCards) -> Cards:
    return make_cards(memory_mib=8192)


@pytest.fixture
def guest(cards: Cards, user: StartGuest) -> Guest:
    guest = user(cards)
    guest(f"at = cuda.alloc({2 * GIB})")
    return guest


@pytest.fixture
def operator(cards: Cards, start: StartGuest, guest: Guest) -> Operator:
    other = start(cards)
    other("cuda.init()")
    return Operator(other, guest)


def test_memory_leaves_the_card_and_comes_back(cards: Cards, guest: Guest, operator: Operator) -> None:
    guest("cuda.write(at, b'kept')")
    before = cards.used_bytes()

    assert [operator("Lock"), operator("Checkpoint"), operator.state()] == [SUCCESS, SUCCESS, CHECKPOINTED]
    assert cards.used_bytes() == 0
    assert [operator("Restore"), operator.state(), operator("Unlock")] == [SUCCESS, LOCKED, SUCCESS]
    assert (cards.used_bytes(), operator.state()) == (before, RUNNING)
    assert guest("cuda.read(at, 4)") == "kept"


def test_a_locked_guest_waits_with_its_calls(guest: Guest, operator: Operator) -> None:
    operator("Lock")
    guest.tell(f"cuda.alloc({MIB})")
    guest_waits = operator.state()
    operator("Unlock")

    assert guest_waits == LOCKED
    assert guest.answer() != 0


def test_each_step_needs_the_one_before(operator: Operator) -> None:
    assert [operator(verb) for verb in ("Checkpoint", "Restore", "Unlock")] == [ILLEGAL_STATE] * 3
    operator("Lock")
    assert [operator(verb) for verb in ("Lock", "Restore")] == [ILLEGAL_STATE] * 2
    operator("Checkpoint")
    assert [operator(verb) for verb in ("Lock", "Checkpoint", "Unlock")] == [ILLEGAL_STATE] * 3


def test_a_card_that_filled_up_meanwhile_takes_nobody_back(cards: Cards, operator: Operator, user: StartGuest) -> None:
    operator("Lock")
    operator("Checkpoint")
    other = user(cards)
    other(f"big = cuda.alloc({7 * GIB})")

    assert (operator("Restore"), operator.state()) == (OUT_OF_MEMORY, CHECKPOINTED)
    other("cuda.free(big)")
    assert (operator("Restore"), operator.state()) == (SUCCESS, LOCKED)


def test_a_lock_waits_for_submitted_work(make_cards: MakeCards, user: StartGuest, start: StartGuest) -> None:
    cards = make_cards("virtual", clock="virtual")
    guest, other = user(cards), start(cards)
    other("cuda.init()")
    operator = Operator(other, guest)
    guest("launch(3000)")
    other("args = (ctypes.c_uint64 * 8)(50)")  # wait for 50 ms of the card's time

    assert (operator("Lock", "args"), operator.state()) == (NOT_READY, RUNNING)
    assert (operator("Lock"), operator.state()) == (SUCCESS, LOCKED)


@pytest.mark.parametrize("shared", [f"cuda.alloc_managed({MIB})", "cuda.must('cuIpcGetMemHandle', bytes(64), at)"])
def test_memory_that_others_have_a_part_in_does_not_go(
    shared: str, cards: Cards, guest: Guest, operator: Operator
) -> None:
    guest(shared)
    operator("Lock")

    assert (operator("Checkpoint"), operator.state()) == (NOT_SUPPORTED, LOCKED)
    cards.set(0, checkpoint_ipc=1)
    assert operator("Checkpoint") == SUCCESS


def test_who_is_no_guest_can_not_be_checkpointed(cards: Cards, operator: Operator, start: StartGuest) -> None:
    operator.pid = start(cards).pid

    assert operator("Lock") == INVALID_VALUE
