"""Usage batches: each window counts once, and what does not count is kept with its reason."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator import facade
from allocator.errors import BadBatch, BadSignature, BatchTooLarge, ReviewClosed
from allocator.models import QuarantinedUsage, UsageGap, UsageWindow
from allocator.services import ingest, release, review
from allocator.services._batch import MAX_BODY, inflate
from allocator.services._gaps import missing
from plumbing import db
from plumbing.errors import NotFound
from tests.allocator.factories import NOON, Node, at, make_report, started_lease
from tests.allocator.test_watch import watch_until
from vxpu.ids import encode, new_uuid
from vxpu.market import LeaseView
from vxpu.states import LeaseState

pytestmark = pytest.mark.usefixtures("system")


def used(lease: LeaseView) -> int | None:
    return facade.usage_report(lease_id=lease.id).used_permille_s


def open_gaps(lease: LeaseView) -> list[tuple[int, int]]:
    gaps = UsageGap.objects.filter(lease_id=lease.id, closed_at=None).order_by("first_seq")
    return [(gap.first_seq, gap.last_seq) for gap in gaps]


def test_a_window_counts_once_and_again_is_a_duplicate() -> None:
    node = Node()
    lease = started_lease(node)
    window = node.window(lease, NOON)
    assert node.statuses(window, window, now=at(61)) == ["accepted", "duplicate"]
    assert node.statuses(window, now=at(70)) == ["duplicate"]
    assert used(lease) == 15_000


def test_the_same_key_with_another_payload_is_a_conflict_and_the_first_stays() -> None:
    node = Node()
    lease = started_lease(node)
    first, other = node.window(lease, NOON), node.window(lease, NOON, used_permille_s=1)
    assert node.statuses(first, now=at(61)) == ["accepted"]
    assert node.statuses(other, now=at(62)) == ["conflict: another_payload_was_counted"]
    assert node.statuses(other, now=at(63)) == ["conflict: another_payload_was_counted"]
    assert used(lease) == 15_000
    kept = QuarantinedUsage.objects.get()
    assert (kept.verdict, kept.lease_id, kept.event["data"]["used_permille_s"]) == ("conflict", lease.id, 1)


def test_an_agents_clock_ten_minutes_ahead_is_quarantined_and_counts_once_after_review() -> None:
    node = Node()
    lease = started_lease(node)
    ahead = node.window(lease, at(600))
    assert node.statuses(ahead, now=at(61)) == ["quarantined: ends_in_the_future"]
    assert used(lease) == 0
    row = QuarantinedUsage.objects.get()
    assert review.release_quarantined(quarantine_id=row.pk, now=at(700)) == "accepted"
    assert used(lease) == 15_000
    with pytest.raises(ReviewClosed):
        review.release_quarantined(quarantine_id=row.pk, now=at(701))
    assert node.statuses(ahead, now=at(702)) == ["duplicate"]
    assert used(lease) == 15_000


def test_a_released_window_whose_key_is_taken_counts_no_second_time() -> None:
    node = Node()
    lease = started_lease(node)
    node.send(node.window(lease, at(60)), now=at(61))
    node.send(node.window(lease, at(60)), now=at(121))
    assert review.release_quarantined(quarantine_id=QuarantinedUsage.objects.get().pk, now=at(130)) == "duplicate"
    assert used(lease) == 15_000


def test_what_cannot_be_released_says_so() -> None:
    node = Node()
    lease = started_lease(node)
    node.send(node.window(lease, NOON, token=lease.token + 1), now=at(61))
    with pytest.raises(ReviewClosed):
        review.release_quarantined(quarantine_id=QuarantinedUsage.objects.get().pk, now=at(62))
    with pytest.raises(NotFound):
        review.release_quarantined(quarantine_id=new_uuid(), now=at(62))
    review.dismiss_quarantined(quarantine_id=QuarantinedUsage.objects.get().pk, now=at(62))
    assert QuarantinedUsage.objects.get().state == "dismissed"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"token": 10**9}, "rejected: void_token"),
        ({"event": {"source": "/agents/someone"}}, "rejected: other_source"),
        ({"event": {"subject": "lse_nonsense"}}, "rejected: no_such_lease"),
        ({"event": {"subject": encode("lse", UUID(int=7 << 76))}}, "rejected: no_such_lease"),
        ({"window_start": at(1).isoformat()}, "rejected: off_grid"),
        ({"window_start": at(-120).isoformat()}, "rejected: before_the_lease"),
        ({"granted_permille_s": 60_001}, "rejected: more_than_the_device"),
        ({"used_permille_s": 60_001}, "rejected: more_than_the_device"),
        ({"state": "assigned"}, "rejected: not_running"),
        ({"window_s": 30}, "quarantined: other_window_size"),
    ],
)
def test_what_does_not_count(change: dict[str, Any], status: str) -> None:
    node = Node()
    lease = started_lease(node)
    assert node.statuses(node.window(lease, NOON, **change), now=at(61)) == [status]
    assert used(lease) == 0
    assert QuarantinedUsage.objects.get().reason == status.split(": ")[1]


def test_another_nodes_lease_is_not_this_nodes_to_report() -> None:
    node, other = Node(), Node()
    lease = started_lease(node)
    owner = other if lease.node_id == other.id else node
    thief = node if owner is other else other
    assert thief.statuses(thief.window(lease, NOON), now=at(61)) == ["rejected: other_node"]
    assert QuarantinedUsage.objects.get().lease_id is None


def test_a_window_older_than_the_late_limit_waits_for_a_person() -> None:
    node = Node()
    lease = started_lease(node)
    days = timedelta(days=2)
    assert node.statuses(node.window(lease, NOON), now=NOON + days) == ["quarantined: too_late"]


def test_the_last_window_may_be_sent_before_its_grid_end() -> None:
    node = Node()
    lease = started_lease(node)
    node.end(lease, now=at(10))
    closing = node.window(lease, NOON, granted_permille_s=2500, used_permille_s=2000, state="gone")
    assert node.statuses(closing, now=at(11)) == ["accepted"]
    assert node.statuses(node.window(lease, at(60), state="gone"), now=at(11)) == ["rejected: after_the_lease"]


def test_what_was_measured_before_the_fencing_still_counts() -> None:
    node = Node()
    lease = started_lease(node)
    watch_until(32)
    with_token = node.window(lease, NOON)

    @db.transaction
    def fence() -> None:
        release.fence(lease_id=lease.id, reason="lost", now=at(90))

    fence()
    assert node.statuses(with_token, node.window(lease, at(60)), now=at(130)) == ["accepted", "rejected: void_token"]


def test_one_bad_element_does_not_spoil_the_batch() -> None:
    node = Node()
    lease = started_lease(node)
    good, odd = node.window(lease, NOON), node.window(lease, at(60), seq=1, surprise=1)
    statuses = node.statuses(good, odd, {"id": "x\u0000y"}, now=at(130))
    assert statuses[0] == "accepted"
    assert statuses[1].startswith("rejected: data.surprise")
    assert statuses[2].startswith("rejected: source")
    assert UsageWindow.objects.count() == 1
    assert QuarantinedUsage.objects.count() == 2


@pytest.mark.parametrize("value", ["\ud800", float("inf"), float("nan"), 10**400])
def test_what_no_column_holds_is_kept_as_its_text(value: Any) -> None:
    node = Node()
    lease = started_lease(node)
    odd: list[dict[str, Any]] = [{"event": {"id": value}}, {"event": {"a\0\ud800": value}}]
    statuses = node.statuses(*(node.window(lease, at(60 * number), **over) for number, over in enumerate(odd)), value,
                             now=at(130))  # fmt: skip
    assert {status.partition(":")[0] for status in statuses} == {"rejected"}
    assert QuarantinedUsage.objects.count() == 3


def test_holes_in_the_sequence_open_gaps_that_late_windows_close() -> None:
    node = Node()
    lease = started_lease(node)
    windows = [node.window(lease, at(60 * number), seq=number) for number in range(8)]
    node.send(windows[0], windows[1], windows[5], now=at(400))
    assert open_gaps(lease) == [(2, 4)]
    node.send(windows[3], windows[7], now=at(500))
    assert open_gaps(lease) == [(2, 2), (4, 4), (6, 6)]
    node.send(windows[2], windows[4], windows[6], now=at(501))
    assert open_gaps(lease) == []
    assert facade.usage_report(lease_id=lease.id).seqs_missing == 0


@given(st.lists(st.integers(0, 20)), st.integers(0, 10), st.integers(0, 20))
def test_missing_are_the_numbers_that_never_came(seqs: list[int], first: int, last: int) -> None:
    holes = missing(seqs, from_seq=first, to_seq=last)
    counted = [number for low, high in holes for number in range(low, high + 1)]
    assert counted == [number for number in range(first, last + 1) if number not in seqs]


def test_a_wrong_signature_stores_nothing() -> None:
    node = Node()
    lease = started_lease(node)
    body = json.dumps([node.window(lease, NOON)]).encode()
    with pytest.raises(BadSignature):
        ingest.ingest(node_id=node.id, body=body + b" ", encoding="", signature=node.key.sign(body), now=at(61))
    assert UsageWindow.objects.count() == 0


def test_gzip_is_read_and_a_bomb_is_not() -> None:
    node = Node()
    lease = started_lease(node)
    assert node.send(node.window(lease, NOON), now=at(61), pack=True).results[0].status == "accepted"
    bomb = gzip.compress(b" " * (64 * MAX_BODY))
    assert len(bomb) < MAX_BODY
    with pytest.raises(BatchTooLarge):
        inflate(bomb, "gzip")


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"not gzip", "gzip"),
        (gzip.compress(b"[]")[:-4], "gzip"),
        (gzip.compress(b"[]") + b"more", "gzip"),
        (b"[]", "br"),
    ],
    ids=["no gzip", "cut short", "followed by more", "unknown encoding"],  # gzip holds the time: no stable id
)
def test_a_body_that_cannot_be_read(body: bytes, encoding: str) -> None:
    with pytest.raises(BadBatch):
        inflate(body, encoding)


@pytest.mark.parametrize("body", [b"", b"{}", b"nonsense", b'"text"', b"[" * 100_000], ids=range(5))
def test_a_batch_that_is_none(body: bytes) -> None:
    node = Node()
    with pytest.raises(BadBatch):
        ingest.ingest(node_id=node.id, body=body, encoding="", signature=node.key.sign(body), now=NOON)


def test_at_most_a_thousand_events() -> None:
    node = Node()
    lease = started_lease(node)
    events = [node.window(lease, at(60 * number)) for number in range(1001)]
    with pytest.raises(BatchTooLarge):
        node.send(*events, now=at(70_000))
    assert node.statuses(*events[:1000], now=at(60_100)) == ["accepted"] * 1000


def test_a_silent_lease_counts_by_its_token_only(settings: object) -> None:
    node = Node()
    lease = started_lease(node)
    watch_until(32)
    assert node.statuses(node.window(lease, NOON), now=at(61)) == ["accepted"]
    node.sync(now=at(62), leases=[make_report(lease, LeaseState.READY)])
    assert node.statuses(node.window(lease, at(60), seq=1), now=at(121)) == ["accepted"]
