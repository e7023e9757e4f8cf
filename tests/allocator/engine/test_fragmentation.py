"""The default policy: what its terms say, and that kept scores are the scores."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from uuid import UUID

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER, UNLIMITED, Ask, Card, Fleet, Machine
from allocator.engine.learn import learn
from allocator.engine.lessons import Lessons
from allocator.engine.mix import Seen, Shape, Supply
from allocator.engine.policies.fragmentation import GROUP, TIE, Fragmentation
from allocator.engine.search import FAR_BEHIND, FEW_ROWS, Found, Ranker
from allocator.engine.view import View

HISTORY = [
    Seen(Shape(1, 810, 4_000, None), 500.0), Seen(Shape(1, 470, 8_000, None), 400.0),
    Seen(Shape(1, 320, 4_000, None), 200.0), Seen(Shape(1, 1000, 12_000, frozenset("B")), 300.0),
    Seen(Shape(8, 1000, 90_000, None), 20.0), Seen(Shape(0, 0, 12_000, None), 200.0),
]  # fmt: skip


def ask(devices: int = 1, permille: int = 1000, *, mib: int = 0, cores: int = 0, whole: bool = False) -> Ask:
    return Ask(permille=permille, mib=mib, starts=0, devices=devices, cores_milli=cores, whole=whole)


def make_view(nodes: int = 3, columns: int = 2, *, cores: int = UNLIMITED) -> tuple[Draft, View]:
    """Node n has the model "A", every third "B"."""
    machines = [Machine(node_id=UUID(int=node), cores_milli=cores) for node in range(1, nodes + 1)]
    cards = [
        Card(
            device_id=UUID(int=node * 100 + column), node_id=UUID(int=node), kind="cuda", isolation_rank=0,
            permille=1000, mib=1000, model="B" if node % 3 == 0 else "A",
        )
        for node in range(1, nodes + 1)
        for column in range(columns)
    ]  # fmt: skip
    draft = Draft.of(Fleet.of(cards, machines))
    return draft, draft.view(0, FOREVER)


@cache
def learned() -> Fragmentation:
    return Fragmentation(learn(HISTORY, Supply({"A": 4, "B": 2}, 0, 1_000)))


def take(draft: Draft, row: int, columns: tuple[int, ...], wanted: Ask) -> UUID:
    lease_id = UUID(int=draft.mark() + 10_000)
    draft.take(row, columns, wanted, lease_id=lease_id)
    return lease_id


def test_without_lessons_the_fullest_device_that_fits_is_the_best() -> None:
    draft, view = make_view()
    take(draft, 1, (1,), ask(permille=400))
    take(draft, 2, (0,), ask(permille=600))
    found = Ranker(view, Fragmentation()).best(ask(permille=400))
    assert found is not None
    assert (found.row, found.columns) == (2, (0,))


def test_a_share_goes_where_the_usual_ones_lose_least() -> None:
    """Beside it on a fresh device an 810 still fits; of the 530 left of the other no 470 would be left."""
    draft, view = make_view()
    take(draft, 1, (0,), ask(permille=470))
    ranker = Ranker(view, learned())
    found = ranker.best(ask(permille=190))
    assert found is not None
    terms = ranker.explain(ask(permille=190), found)
    assert (found.row, terms["value_kept"]) == (0, -3)


def test_devices_that_no_cores_are_left_for_are_stranded() -> None:
    draft, view = make_view(cores=24_000)
    lessons = Lessons(cores_per_device=12_000)
    ranker = Ranker(view, Fragmentation(lessons))
    take(draft, 0, (), ask(0, 0, cores=12_000))
    found = ranker.best(ask(cores=4_000))
    assert found is not None
    assert (found.row, ranker.explain(ask(cores=4_000), found)["cores_stranded"]) == (0, 865)
    cores_only = ranker.best(ask(0, 0, cores=1_000))
    assert cores_only is not None
    assert cores_only.row == 0


def test_a_model_that_others_insist_on_is_kept_for_them() -> None:
    draft, view = make_view()
    ranker = Ranker(view, learned())
    assert [found.row for found in ranker.rank(ask(), limit=6)] == [0, 0, 1, 1, 2, 2]
    for row in (0, 1):
        take(draft, row, (0, 1), ask(2))
    found = ranker.best(ask())
    assert found is not None
    assert ranker.explain(ask(), found)["scarce_model"] < 0


def test_the_last_group_of_free_devices_is_broken_last() -> None:
    draft, view = make_view(3, 4)
    take(draft, 2, (0,), ask())
    ranker = Ranker(view, Fragmentation(Lessons(largest=4)))
    found = ranker.best(ask())
    assert found is not None
    assert (found.row, ranker.explain(ask(), found)["group_broken"]) == (2, 0)
    whole = Found(0, (0,), 0)
    assert ranker.explain(ask(), whole)["group_broken"] == -GROUP
    assert "group_broken" not in ranker.explain(ask(4), Found(0, (0, 1, 2, 3), 0))
    share = ranker.best(ask(permille=300))
    assert share is not None
    assert share.row == 2


def test_an_ask_that_uses_up_what_is_begun_breaks_no_group() -> None:
    draft, view = make_view(1, 6)
    for column in (0, 1):
        take(draft, 0, (column,), ask(permille=500))
    ranker = Ranker(view, Fragmentation(Lessons(largest=4)))
    broken = [ranker.explain(ask(2, permille), Found(0, (0, 1), 0))["group_broken"] for permille in (500, 600)]
    assert broken == [0, -GROUP]


def test_cores_alone_stay_off_larger_nodes_if_smaller_ones_have_them() -> None:
    machines = [Machine(node_id=UUID(int=node), cores_milli=64_000) for node in (1, 2)]
    places = [(1, column) for column in range(4)] + [(2, 0)]
    cards = [
        Card(
            device_id=UUID(int=node * 100 + column), node_id=UUID(int=node), kind="cuda", isolation_rank=0,
            permille=1000, mib=1000,
        )
        for node, column in places
    ]  # fmt: skip
    view = Draft.of(Fleet.of(cards, machines)).view(0, FOREVER)
    wanted = ask(0, 0, cores=8_000)
    rows = [Ranker(view, Fragmentation(Lessons(spare_up_to=size))).rank(wanted, limit=2)[0].row for size in (0, 1)]
    assert rows == [0, 1]


def test_memory_left_counts_like_compute_left() -> None:
    draft, view = make_view(1, 2)
    take(draft, 0, (0,), ask(permille=100, mib=900))
    take(draft, 0, (1,), ask(permille=300, mib=300))
    assert view.spare.tolist() == [[100, 700]]
    ranker = Ranker(view, Fragmentation())
    assert [found.score for found in ranker.rank(ask(permille=100, mib=50), limit=2)] == [-100, -250]


def test_a_whole_device_takes_its_whole_value() -> None:
    draft, view = make_view(1, 2)
    take(draft, 0, (0,), ask(permille=500))
    ranker = Ranker(view, learned())
    found = ranker.best(ask(whole=True))
    assert found is not None
    assert (found.columns, ranker.explain(ask(whole=True), found)["value_kept"]) == ((1,), -1000)


def test_a_shape_that_fell_far_behind_is_brought_up_to_date_between_asks() -> None:
    draft, view = make_view(FEW_ROWS, 1)
    ranker = Ranker(view, learned())
    rare, usual = ask(permille=810), ask(permille=190)
    ranker.warm([rare, usual])
    for row in range(2 * FAR_BEHIND):
        take(draft, row, (0,), usual)
    for _ in range(2):  # one shape with each call
        ranker.keep_warm()
    rows = np.arange(FEW_ROWS)
    for wanted in (rare, usual):
        fresh = Ranker(view, ranker.policy)
        assert ranker.best(wanted) == fresh.best(wanted)
        assert ranker.best(wanted, within=rows[:FAR_BEHIND]) == fresh.best(wanted, within=rows[:FAR_BEHIND])


ASKS = [
    ask(permille=810, cores=4_000), ask(permille=470, mib=300), ask(permille=190), ask(cores=12_000), ask(2, 1000),
    ask(2, 400), ask(0, 0, cores=8_000), ask(whole=True), ask(3, whole=True),
]  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(ASKS) - 1), st.booleans()), max_size=25), st.sampled_from([2, 3, 8]))
def test_kept_scores_are_fresh_ones_and_terms_add_up(steps: list[tuple[int, bool]], largest: int) -> None:
    draft, view = make_view(4, 3, cores=48_000)
    ranker = Ranker(view, Fragmentation(replace(learned().lessons, largest=largest, spare_up_to=largest)))
    leases: list[UUID] = []
    for number, leaves in steps:
        wanted = ASKS[number]
        found = ranker.best(wanted)
        assert found == Ranker(view, ranker.policy).best(wanted)
        ranker.keep_warm()
        if found is not None:
            terms = ranker.explain(wanted, found)
            assert sum(terms.values()) == found.score
            assert terms["rounded"] in range(-TIE + 1, 1)
            leases.append(take(draft, found.row, found.columns, wanted))
        if leaves and leases:
            draft.remove(leases.pop(0))
    rebuilt = Draft.of(draft.fleet()).view(0, FOREVER)
    assert np.array_equal(rebuilt.spare, view.spare)
    assert np.array_equal(rebuilt.free, view.free)
