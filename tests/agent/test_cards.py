"""What the agent publishes for slices of a card: gain, overhead, debits and loans, from a driver's word."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from agent import shm
from agent.cards import LOOK_NS, Cards
from agent.config import CardPolicy
from agent.devices.port import Device
from agent.enforce.port import SliceCard, SliceSpec
from agent.lender import LOAN_NS
from agent.region import Region
from tests.agent.bench import Bench, wait_for
from vxpu.states import DeviceKind, Isolation
from vxpu.units import MIB

MS = 1_000_000
UUID = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10"
CARD = Device(
    key=f"nvidia:{UUID}", kind=DeviceKind.NVIDIA, model="Simulated GPU", vendor="NVIDIA (simulated)", compute_units=1,
    memory_mib=24_576, capacity_mib=24_576, capacity_permille=1000, simulated=True,
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    pid: int
    at_us: int
    sm_permille: int


@dataclass
class Node:
    """Slices on one card, a driver that says what it is told to, and a clock that moves when a test says so."""

    bench: Bench
    policy: CardPolicy = field(default_factory=CardPolicy)
    now_ns: int = 10_000 * MS
    busy: dict[int, int] = field(default_factory=dict)
    memory: dict[int, int | None] | None = field(default_factory=dict)
    pid_of: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cards = Cards(
            self, self.bench.enforcer, self.policy, now_ns=lambda: self.now_ns, wall_us=lambda: self.now_ns // 1000
        )

    def process_busy(self, device: Device, since_us: int) -> list[Sample] | None:
        assert device.key == CARD.key
        assert since_us <= self.now_ns // 1000
        return [Sample(pid, self.now_ns // 1000, permille) for pid, permille in self.busy.items()]

    def process_memory(self, device: Device) -> dict[int, int | None] | None:
        assert device.key == CARD.key
        return self.memory

    def make(self, lease_id: str, *, share: int, uid: int, inert: bool = False) -> SliceSpec:
        card = SliceCard(UUID, "limiter", Isolation.STRICT, 24_576, share, inert=inert)
        spec = self.bench.make(lease_id=lease_id, share_permille=share, uid=uid, compute_units=1, cpu_permille=0,
                               memory_mib=512, card=card)  # fmt: skip
        self.bench.start(spec, "/bin/sleep", "60").wait_started()
        (self.pid_of[lease_id],) = self.bench.programs(spec)
        self.cards.watch(spec, CARD)
        return spec

    def guest_writes(self, spec: SliceSpec, *, used_mib: int = 0, spill_mib: int = 0, **counters: int) -> None:
        """What a guest's library would have in its usage file now."""
        path = self.region(spec).folder / "usage"
        usage = shm.Usage.from_buffer_copy(path.read_bytes())
        usage.slot[0].state, usage.slot[0].device[0].used_bytes = shm.SLOT_LIVE, used_mib * MIB
        usage.slot[0].device[0].spill_bytes = spill_mib * MIB
        for name, value in counters.items():
            setattr(usage.device[0], name, value)
        path.write_bytes(bytes(usage))

    def region(self, spec: SliceSpec) -> Region:
        return self.bench.enforcer.region(spec)

    def pass_half_a_second(self, *, late: int = 1, **permille: int) -> None:
        """While it passes these slices have so much of the card. `late`: the look comes after so many half seconds."""
        self.busy = {self.pid_of[lease_id]: share for lease_id, share in permille.items()}
        for _ in range(5 * late):
            self.now_ns += LOOK_NS // 5
            self.cards.sample()
        self.cards.look()


@pytest.fixture
def node(strict: Bench) -> Node:
    return Node(strict)


def page(node: Node, spec: SliceSpec) -> Any:
    return shm.Limits.from_buffer_copy((node.region(spec).folder / "limits").read_bytes()).device[0]


def test_the_gain_follows_what_the_card_really_did(node: Node) -> None:
    a = node.make("lse_a", share=300, uid=64101)
    measured = 0
    for _ in range(12):  # each event holds another tenant's slices: it measures three times what the card did
        measured += 3 * LOOK_NS * 3 // 10
        node.guest_writes(a, measured_ns=measured, debited_ns=measured)
        node.pass_half_a_second(lse_a=300)
    assert 300_000 <= page(node, a).gain_ppm <= 370_000
    assert page(node, a).agent_debit_ns == 0


def test_what_a_guest_did_not_debit_comes_back_as_the_agents_debit(node: Node) -> None:
    a = node.make("lse_a", share=300, uid=64101)
    for _ in range(6):
        node.pass_half_a_second(lse_a=500)
    had = node.cards.counters("lse_a").compute_ns  # type: ignore[union-attr]
    assert had > 1_000 * MS
    assert had - LOOK_NS <= page(node, a).agent_debit_ns <= had
    assert page(node, a).gain_ppm == 1_000_000


def test_memory_beyond_the_guests_count_lowers_what_it_may_still_take(node: Node) -> None:
    a = node.make("lse_a", share=300, uid=64101)
    node.memory = {node.pid_of["lse_a"]: 340 * MIB, 1: 999 * MIB}
    node.guest_writes(a, used_mib=300)
    node.pass_half_a_second()
    assert page(node, a).overhead_bytes == 0  # one look may fall into an allocation under way
    node.pass_half_a_second()
    assert page(node, a).overhead_bytes == 40 * MIB
    assert node.cards.users("lse_a") == {node.pid_of["lse_a"]: 340 * MIB}


def test_a_ruined_usage_file_stops_nobodys_meter(node: Node) -> None:
    a, b = node.make("lse_a", share=300, uid=64101), node.make("lse_b", share=300, uid=64102)
    (node.region(a).folder / "usage").write_bytes(b"")
    node.memory = {node.pid_of["lse_a"]: 100 * MIB}
    for _ in range(3):
        node.pass_half_a_second(lse_a=400, lse_b=200)
    had = {lease: node.cards.counters(lease) for lease in ("lse_a", "lse_b")}
    assert had["lse_a"].compute_ns == 2 * had["lse_b"].compute_ns > 0  # type: ignore[union-attr]
    assert page(node, a).overhead_bytes == 100 * MIB
    assert page(node, b).agent_debit_ns > 0


def test_who_has_more_than_his_share_for_ten_seconds_is_told(node: Node) -> None:
    a = node.make("lse_a", share=200, uid=64101)
    node.make("lse_b", share=300, uid=64102)
    for _ in range(25):
        node.pass_half_a_second(lse_a=450, lse_b=300)
    (event,) = node.cards.take_events()
    assert event[0] == a.lease_id
    assert event[1].startswith("over_share: 4")


def test_looks_that_come_late_accuse_nobody(node: Node) -> None:
    node.make("lse_a", share=450, uid=64101)
    for _ in range(12):
        node.pass_half_a_second(late=2, lse_a=450)
    assert node.cards.take_events() == []


def test_a_whole_card_is_metered_and_otherwise_left_alone(node: Node) -> None:
    a = node.make("lse_a", share=1000, uid=64101, inert=True)
    before = page(node, a).gen
    for _ in range(3):
        node.pass_half_a_second(lse_a=900)
    counters = node.cards.counters("lse_a")
    assert counters is not None
    assert counters.compute_ns >= 2 * LOOK_NS * 9 // 10
    assert page(node, a).gen == before


def test_an_ended_slice_is_let_go_and_a_new_agent_goes_on_from_the_page(node: Node) -> None:
    a = node.make("lse_a", share=300, uid=64101)
    node.region(a).publish(gain_ppm=400_000, overhead_bytes=6 * MIB, agent_debit_ns=77)
    another = Cards(node, node.bench.enforcer, node.policy, now_ns=lambda: node.now_ns)
    another.watch(a, CARD, busy_ns=5 * MS)
    another.look()
    assert (page(node, a).gain_ppm, page(node, a).agent_debit_ns) == (400_000, 77)
    assert another.counters("lse_a").compute_ns == 5 * MS  # type: ignore[union-attr]
    another.forget("lse_a")
    another.sample()
    another.look()
    assert another.counters("lse_a") is None


# ---- turns ----


def crowd(node: Node, *spill_mib: int) -> list[SliceSpec]:
    """Slices of 200 permille that spill so much, and together keep more than their card holds."""
    specs = [node.make(f"lse_{i}", share=200, uid=64101 + i) for i in range(len(spill_mib))]
    node.memory = {node.pid_of[spec.lease_id]: 9000 * MIB for spec in specs}
    for spec, mib in zip(specs, spill_mib, strict=True):
        node.guest_writes(spec, used_mib=300, spill_mib=mib)
    node.pass_half_a_second(lse_0=1)  # so the driver is asked from here on
    return specs


@pytest.fixture
def spilling(strict: Bench) -> Node:
    return Node(strict, CardPolicy(spill_mib=4000))


def test_who_spills_on_a_full_card_is_held_outside_its_turns_and_who_does_not_is_not(spilling: Node) -> None:
    a, b, c = crowd(spilling, 500, 500, 0)
    assert spilling.cards.take_turns()
    held = [page(spilling, spec) for spec in (a, b, c)]
    assert [one.hold_until_ns > spilling.now_ns for one in held] == [True, True, False]
    assert [one.lend_permille for one in held] == [200, 200, 0]
    assert sum(one.hold_from_ns <= spilling.now_ns for one in held[:2]) == 1
    assert [name for name, text in spilling.cards.take_events() if text.startswith("taking_turns")] == [
        "lse_0",
        "lse_1",
    ]
    spilling.cards.take_turns()
    assert spilling.cards.take_events() == []


def test_turns_end_when_the_card_has_room_again(spilling: Node) -> None:
    a, b, _ = crowd(spilling, 500, 500, 0)
    spilling.cards.take_turns()
    spilling.memory = {}
    for _ in range(11):
        spilling.pass_half_a_second()
    spilling.cards.take_events()
    assert not spilling.cards.take_turns()
    assert [(page(spilling, spec).hold_until_ns, page(spilling, spec).lend_permille) for spec in (a, b)] == [(0, 0)] * 2
    assert spilling.cards.take_events() == [("lse_0", "turns_over"), ("lse_1", "turns_over")]


@pytest.mark.parametrize("spill_mib", [(500, 0, 0), (0, 0, 0)])
def test_nobody_takes_turns_alone(spilling: Node, spill_mib: tuple[int, ...]) -> None:
    crowd(spilling, *spill_mib)
    assert not spilling.cards.take_turns()


def test_a_guest_that_bought_no_spill_can_claim_none(node: Node) -> None:
    crowd(node, 500, 500, 500)
    assert not node.cards.take_turns()


def test_what_spills_and_is_on_the_card_is_no_overhead(spilling: Node) -> None:
    (a,) = crowd(spilling, 500)
    spilling.memory = {spilling.pid_of[a.lease_id]: 820 * MIB}
    for _ in range(2):
        spilling.pass_half_a_second()
    assert page(spilling, a).overhead_bytes == 20 * MIB


def test_long_turns_neither_move_the_gain_nor_look_like_too_much(spilling: Node) -> None:
    a, b, _ = crowd(spilling, 500, 500, 0)
    measured = [0, 0]
    for half in range(60):
        for index, spec in enumerate((a, b)):
            measured[index] += LOOK_NS * 4 // 10 * (half % 2 == index)
            spilling.guest_writes(spec, used_mib=300, spill_mib=500, measured_ns=measured[index],
                                  debited_ns=measured[index])  # fmt: skip
        spilling.cards.take_turns()
        spilling.pass_half_a_second(**{f"lse_{half % 2}": 400})
    assert page(spilling, a).gain_ppm == pytest.approx(1_000_000, rel=0.05)
    assert page(spilling, a).agent_debit_ns == page(spilling, b).agent_debit_ns == 0
    assert [text for _, text in spilling.cards.take_events() if text.startswith("over_share")] == []


# ---- idle time ----


@pytest.fixture
def lender(strict: Bench) -> Node:
    return Node(strict, CardPolicy(lend="work-conserving"))


def wait_at_the_gate(node: Node, spec: SliceSpec) -> None:
    node.guest_writes(spec, budget_ns=-MS, last_refill_ns=node.now_ns)


def test_idle_time_is_lent_to_who_waits_and_ends_by_itself(lender: Node) -> None:
    a, b = lender.make("lse_a", share=250, uid=64101), lender.make("lse_b", share=500, uid=64102)
    assert not lender.cards.lend()
    wait_at_the_gate(lender, a)
    assert lender.cards.lend()
    assert page(lender, a).lend_permille == 750
    assert lender.now_ns < page(lender, a).lend_until_ns <= lender.now_ns + LOAN_NS
    assert page(lender, b).lend_permille == 0


def test_the_owner_has_his_share_back_at_the_next_look(lender: Node) -> None:
    a, b = lender.make("lse_a", share=250, uid=64101), lender.make("lse_b", share=500, uid=64102)
    wait_at_the_gate(lender, a)
    lender.cards.lend()
    lender.now_ns += 50 * MS
    for spec in (a, b):
        wait_at_the_gate(lender, spec)
    lender.cards.lend()
    assert page(lender, a).lend_permille + page(lender, b).lend_permille == 250
    assert page(lender, b).lend_permille > page(lender, a).lend_permille  # by weight


def test_nothing_is_lent_in_hard_mode_and_no_more_to_who_stopped_waiting(lender: Node, strict: Bench) -> None:
    a = lender.make("lse_a", share=250, uid=64101)
    wait_at_the_gate(lender, a)
    hard = Cards(lender, strict.enforcer, CardPolicy(), now_ns=lambda: lender.now_ns)
    hard.watch(a, CARD)
    assert not hard.lend()
    assert page(lender, a).lend_permille == 0
    lender.cards.lend()
    lender.now_ns += 500 * MS
    assert not lender.cards.lend()
    assert (page(lender, a).lend_permille, page(lender, a).lend_until_ns) == (0, 0)


def test_what_is_no_slices_is_not_lent(lender: Node) -> None:
    a = lender.make("lse_a", share=250, uid=64101)
    lender.pid_of["host"] = 1
    lender.pass_half_a_second(host=400)
    wait_at_the_gate(lender, a)
    lender.cards.lend()
    assert 300 <= page(lender, a).lend_permille <= 400


def test_its_thread_goes_on_when_a_slice_goes_away_under_it(node: Node) -> None:
    a, b = node.make("lse_a", share=250, uid=64101), node.make("lse_b", share=250, uid=64102)
    node.region(a).remove()
    before = page(node, b).gen
    node.cards.start()
    try:
        wait_for(lambda: page(node, b).gen > before, what="the other slice is still published for")
    finally:
        node.cards.stop()
