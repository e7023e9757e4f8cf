"""What of the market is said live, to whom: hints of events, the queue and prices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from config.sockets import TOPICS
from marketplace.models import EVERYWHERE
from marketplace.services import estimate, extend, prices, queue
from marketplace.services.news import events_feed, price_feed, queue_feed
from plumbing.errors import Forbidden
from plumbing.live.publish import stream_of
from plumbing.live.topics import View
from plumbing.live.valkey import valkey
from plumbing.principal import Principal
from tests.identity.factories import make_member, make_operator, make_project
from tests.marketplace.factories import HOUR, NOON, Buyer, buy, make_book, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import encode, new_uuid

WHOLE: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}


def said(feed: str) -> list[dict[str, Any]]:
    """What the feed's stream holds."""
    client: Any = valkey()
    return [json.loads(fields[b"d"] if b"d" in fields else fields["d"]) for _, fields in client.xrange(stream_of(feed))]


def watch(name: str, principal: Principal) -> View:
    topic, parts = TOPICS.find(name)
    return topic.open(principal, parts)


@pytest.mark.usefixtures("committed_system")
def test_a_purchase_and_a_quota_stand_in_the_feed_of_their_tenant_and_of_operators() -> None:
    make_price("3.20")
    Node(now=NOON)
    ada = make_buyer()
    row = buy(ada)
    told = {"kind": "reservation.confirmed", "subject": encode("rsv", row.pk), "project": ada.project_name}
    assert said(events_feed(ada.tenant_id)) == [told]
    assert told in said(events_feed(None))


@pytest.mark.usefixtures("committed_system")
def test_a_wait_that_changes_is_told_once() -> None:
    make_price("3.20")
    Node(now=NOON)
    ada, bo = make_buyer(), make_buyer()
    full = buy(ada, **WHOLE, ends_at=NOON + 2 * HOUR)
    row = buy(bo, **WHOLE, queue=True)
    extend.extend(reach=EVERYWHERE, reservation_id=full.pk, actor="user:test", now=NOON, ends_at=NOON + 3 * HOUR)
    for _ in range(2):
        queue.place_queued(now=NOON)
        estimate.estimate_queue(now=NOON)
    (told,) = said(queue_feed(bo.tenant_id))
    assert (told["reservation"], told["estimated_start_at"]) == (
        encode("rsv", row.pk), (NOON + 3 * HOUR).isoformat(),
    )  # fmt: skip
    seen = watch("queue/me", bo.person.principal()).snapshot()
    assert [one["reservation"] for one in seen["queue"]] == [encode("rsv", row.pk)]
    assert watch("queue/me", ada.person.principal()).snapshot() == {"queue": []}


@pytest.mark.usefixtures("committed_system")
def test_a_price_is_told_by_name_and_never_to_whom_it_is_not() -> None:
    ada, bo = make_buyer(), make_buyer()
    word = f"sku-{new_uuid().hex[-8:]}"
    price = make_price("3.20", sku=word, book_id=make_book(for_tenant_id=ada.tenant_id).pk)
    prices.end_price(price_id=price.pk, ends_at=NOON + HOUR, now=NOON)
    told = said(price_feed(word))
    assert len(told) == 2
    views = {buyer: watch(f"price/{word}", buyer.person.principal()) for buyer in (ada, bo)}
    shapes = {buyer: view.shape for buyer, view in views.items() if view.shape}
    assert [shapes[ada](one) for one in told] == [{"sku": word}] * 2
    assert [shapes[bo](one) for one in told] == [None] * 2


@pytest.mark.usefixtures("system")
def test_a_member_hears_of_his_projects_and_of_his_tenant() -> None:
    ada = make_buyer()
    other = make_project(by=ada.person)
    member = Buyer(make_member(by=ada.person, project=other), other)
    shape = watch("events", member.person.principal()).shape
    assert shape is not None
    news = {"kind": "reservation.active", "subject": "rsv_x", "project": ada.project_name}
    assert shape(news) is None
    for seen in ({**news, "project": member.project_name}, {**news, "project": None}):
        assert shape(seen) == seen
    assert watch("events", make_operator().principal()).feed == events_feed(None)


@pytest.mark.usefixtures("system")
def test_a_token_without_the_scope_watches_nothing() -> None:
    nobody = Principal(user_id=new_uuid(), tenant_id=new_uuid(), name="n", scopes=frozenset({"billing:read"}))
    for topic in ("events", "queue/me"):
        with pytest.raises(Forbidden):
            watch(topic, nobody)
