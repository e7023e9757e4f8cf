"""The live socket, through Channels, over a real Valkey: what comes, what is refused, what is never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from pytest_django import DjangoDbBlocker

from plumbing.live.publish import look_again, publish_metrics
from tests.allocator.links import Link, run
from tests.plumbing.watchers import House, Watcher, said, watching

Settings = Any


@pytest.fixture(autouse=True)
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker, valkey: str) -> Iterator[None]:
    """The house keeps its state in memory: the database is asked for scopes only, so the worker's own will do."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def house() -> House:
    return House()


async def values(watcher: Link, count: int) -> list[int]:
    return [(await watcher.answer(wanted="delta"))["data"]["value"] for _ in range(count)]


def test_a_snapshot_and_then_every_change_in_order(house: House) -> None:
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        await said(house, topic, 1, 2)
        watcher = await Watcher.of(house, ada)
        await watcher.hello()
        assert (await watcher.answer(wanted="welcome"))["heartbeat_s"] == 15
        await watcher.subscribe(topic)
        snapshot = await watcher.answer(wanted="snapshot")
        assert snapshot["data"] == {"value": 2}
        await said(house, topic, *range(3, 40))
        deltas = [await watcher.answer(wanted="delta") for _ in range(37)]
        assert [delta["data"]["value"] for delta in deltas] == list(range(3, 40))
        numbers = [tuple(map(int, delta["seq"].split("-"))) for delta in (snapshot, *deltas)]
        assert sorted(set(numbers)) == numbers
        await watcher.hang_up()

    run(story)


def test_after_a_drop_nothing_is_lost_or_doubled(house: House) -> None:
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        first = await watching(house, ada, topic)
        await said(house, topic, 1)
        since = (await first.answer(wanted="delta"))["seq"]
        await first.hang_up()
        await said(house, topic, 2, 3)
        again = await Watcher.of(house, ada)
        await again.hello()
        await again.subscribe(topic, since)
        assert (await again.answer(wanted="resumed"))["seq"] == since
        await said(house, topic, 4)
        assert await values(again, 3) == [2, 3, 4]
        assert await again.is_quiet()
        await again.hang_up()

    run(story)


def test_what_is_not_kept_any_more_is_a_gap_and_a_snapshot(house: House, settings: Settings) -> None:
    settings.VXPU_LIVE_KEPT = 1
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        await said(house, topic, 1)
        watcher = await Watcher.of(house, ada)
        await watcher.hello()
        for since in ("1-1", "nonsense", "99999999999999-0"):
            await watcher.subscribe(topic, since)
            assert (await watcher.answer(wanted="gap"))["topic"] == topic
            assert (await watcher.answer(wanted="snapshot"))["data"] == {"value": 1}
        await watcher.hang_up()

    run(story)


def test_metrics_are_paced_and_the_newest_wins(house: House) -> None:
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        watcher = await watching(house, ada, topic)
        began = asyncio.get_running_loop().time()
        for value in range(50):
            await sync_to_async(publish_metrics)(house.feed(topic), {"value": value})
        found = [(await watcher.answer(wanted="metrics"))["data"]["value"]]
        while found[-1] != 49:
            found.append((await watcher.answer(wanted="metrics"))["data"]["value"])
        # A frame each 0.2 s at most.
        assert len(found) <= 2 + (asyncio.get_running_loop().time() - began) / 0.2
        assert found == sorted(found)
        await watcher.hang_up()

    run(story)


def test_a_slow_reader_loses_metrics_and_no_state(house: House) -> None:
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        watcher, gate = await watching(house, ada, topic), asyncio.Event()
        watcher.stall(gate)
        for value in range(1, 101):
            await said(house, topic, value)
            await sync_to_async(publish_metrics)(house.feed(topic), {"value": value})
        await asyncio.sleep(0.5)
        gate.set()
        frames: list[dict[str, Any]] = []
        while len([frame for frame in frames if frame["type"] == "delta"]) < 100:
            frames.append(await watcher.next())
        assert [frame["data"]["value"] for frame in frames if frame["type"] == "delta"] == list(range(1, 101))
        assert len([frame for frame in frames if frame["type"] == "metrics"]) <= 2
        await watcher.hang_up()

    run(story)


def test_a_reader_that_takes_nothing_is_closed_to_resume(house: House) -> None:
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        watcher, gate = await watching(house, ada, topic), asyncio.Event()
        watcher.stall(gate)
        await said(house, topic, *range(600))
        await asyncio.sleep(0.2)
        gate.set()
        assert await watcher.close_code() == 1013

    run(story)


def test_anothers_topic_is_refused_and_the_socket_stays(house: House) -> None:
    ada, bo = house.person(), house.person()

    async def story() -> None:
        watcher = await watching(house, ada)
        for topic in (house.topic(bo), "counter/x", "no/such", ""):
            await watcher.subscribe(topic)
            refused = await watcher.answer(wanted="refused")
            assert (refused["topic"], refused["code"]) == (topic, "not_found")
        await watcher.subscribe(house.topic(ada))
        await watcher.answer(wanted="snapshot")
        await said(house, house.topic(bo), 1)
        assert await watcher.is_quiet()
        await watcher.hang_up()

    run(story)


def test_after_unsubscribing_nothing_comes(house: House) -> None:
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        watcher = await watching(house, ada, topic)
        await watcher.send({"type": "unsubscribe", "topic": topic})
        await watcher.send({"type": "ping"})
        await watcher.answer(wanted="pong")
        await said(house, topic, 1)
        assert await watcher.is_quiet()
        await watcher.hang_up()

    run(story)


def test_a_ticket_opens_one_socket_once(house: House) -> None:
    ada = house.person()

    async def story() -> None:
        first = await watching(house, ada)
        replay = Watcher(house, first.ticket)
        await replay.hello()
        assert await replay.close_code() == 4408
        await first.hang_up()

    run(story)


@pytest.mark.parametrize("ticket", ["", "vxt_unknown", "x" * 200])
def test_a_ticket_that_does_not_hold_is_no_reason_to_log_out(house: House, ticket: str) -> None:
    async def story() -> None:
        watcher = Watcher(house, ticket)
        await watcher.hello()
        assert await watcher.close_code() == 4408

    run(story)


def test_who_was_revoked_before_hello_is_not_let_in(house: House) -> None:
    ada = house.person()

    async def story() -> None:
        watcher = await Watcher.of(house, ada)
        del house.people[ada]
        await watcher.hello()
        assert await watcher.close_code() == 4401

    run(story)


def test_who_says_no_hello_is_put_out(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plumbing.live.consumer.HELLO_S", 0.1)

    async def story() -> None:
        silent, eager = Watcher(house, ""), Watcher(house, "")
        await silent.connect()
        assert await silent.close_code() == 4408
        await eager.connect()
        await eager.subscribe("counter/x/y")
        assert await eager.close_code() == 4408

    run(story)


@pytest.mark.parametrize(
    ("origin", "is_let_in"),
    [
        ("https://console.example", True), ("https://console.example:443", True), ("http://console.example", False),
        ("https://console.example.evil.example", False), ("https://console.example:8443", False), ("null", False),
        ("https://[", False), ("http://localhost:5173", True), ("http://127.0.0.1:5173", True),
    ],
)  # fmt: skip
def test_a_page_of_another_origin_gets_no_socket(
    house: House, settings: Settings, origin: str, *, is_let_in: bool
) -> None:
    settings.VXPU_WEB_URL, settings.VXPU_LIVE_ORIGINS = "https://console.example/", ["http://127.0.0.1:5173"]

    async def story() -> None:
        watcher = Watcher(house, "", origin=origin)
        await watcher._app.send_input({"type": "websocket.connect"})
        answer = await watcher._app.receive_output(10)
        assert answer["type"] == ("websocket.accept" if is_let_in else "websocket.close")
        await watcher.end()

    run(story)


def test_a_revoked_credential_is_found_at_the_next_look(house: House, settings: Settings) -> None:
    settings.VXPU_LIVE_RECHECK_S = 1
    ada, bo = house.person(), house.person()

    async def story() -> None:
        watcher, other = await watching(house, ada, house.topic(ada)), await watching(house, bo, house.topic(bo))
        del house.people[ada]
        assert await watcher.close_code() == 4401
        await said(house, house.topic(bo), 1)
        assert await values(other, 1) == [1]
        await other.hang_up()

    run(story)


def test_a_revocation_that_is_told_closes_at_once(house: House) -> None:
    ada = house.person()

    async def story() -> None:
        watcher = await watching(house, ada, house.topic(ada))
        del house.people[ada]
        await asyncio.to_thread(look_again, user_id=ada.user_id)
        assert await asyncio.wait_for(watcher.close_code(), 5) == 4401

    run(story)


def test_a_topic_that_is_allowed_no_longer_closes_with_4403(house: House) -> None:
    ada = house.person()

    async def story() -> None:
        watcher, harmless = await watching(house, ada, house.topic(ada)), await watching(house, ada)
        house.narrow(ada, tenant_id=house.people[house.person()].tenant_id)
        await asyncio.to_thread(look_again, user_id=ada.user_id)
        assert await watcher.close_code() == 4403
        await harmless.send({"type": "ping"})
        await harmless.answer(wanted="pong")
        await harmless.hang_up()

    run(story)


@pytest.mark.parametrize("frame", ["not json", "[]", '{"type": "welcome"}', '{"type":"ping"' + " " * 5000 + "}", "\0"])
def test_a_bad_frame_is_refused_and_ten_end_it(house: House, frame: str) -> None:
    ada = house.person()

    async def story() -> None:
        watcher = await watching(house, ada)
        await watcher.send(frame)
        assert (await watcher.answer(wanted="refused"))["code"] == "bad_frame"
        for _ in range(9):
            await watcher.send(frame)
        assert await watcher.close_code() == 4400

    run(story)


def test_limits_of_topics_and_of_sockets(house: House, settings: Settings) -> None:
    settings.VXPU_LIVE_TOPICS, settings.VXPU_LIVE_SOCKETS = 2, 2
    ada = house.person()

    async def story() -> None:
        first, second = await watching(house, ada, house.topic(ada, "a")), await watching(house, ada)
        await first.subscribe(house.topic(ada, "b"))
        await first.answer(wanted="snapshot")
        await first.subscribe(house.topic(ada, "c"))
        assert (await first.answer(wanted="refused"))["code"] == "too_many_topics"
        third = await Watcher.of(house, ada)
        await third.hello()
        assert await third.close_code() == 4429
        await second.hang_up()
        await (await watching(house, ada)).hang_up()
        await first.hang_up()

    run(story)


def test_what_is_watched_is_kept_once_however_many_look(house: House) -> None:
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        watchers = [await watching(house, ada, topic) for _ in range(5)]
        before = house.kept
        await asyncio.sleep(1)
        assert 3 <= house.kept - before <= 6
        for watcher in watchers:
            await watcher.hang_up()
        after = house.kept
        await asyncio.sleep(0.5)
        assert house.kept == after

    run(story)
