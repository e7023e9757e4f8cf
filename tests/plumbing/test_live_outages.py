"""The live socket while Valkey or the database is away, and when a sockets' process is killed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from pytest_django import DjangoDbBlocker

from config.embedded import RunningValkey, start_valkey
from plumbing.live.publish import publish_metrics
from plumbing.live.valkey import valkey as client_of_valkey
from tests.allocator.links import OtherProcess, run
from tests.plumbing.watchers import House, Watcher, said, watching

Settings = Any


class OwnValkey:
    """One that only this story uses: it may be stopped, emptied and started again at the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.running: RunningValkey = start_valkey(data_dir=folder)

    def stop(self) -> None:
        self.running.stop()

    def start(self) -> None:
        self.running = start_valkey(data_dir=self._folder, port=self.running.port)


@pytest.fixture
def own(tmp_path: Path, settings: Settings) -> Iterator[OwnValkey]:
    found = OwnValkey(tmp_path / "valkey")
    settings.REDIS_URL = found.running.url
    yield found
    client_of_valkey().close()
    found.stop()


@pytest.fixture(autouse=True)
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker, valkey: str) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def house() -> House:
    return House()


def test_valkey_goes_and_comes_back_empty_and_everything_is_shown_anew(house: House, own: OwnValkey) -> None:
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        await said(house, topic, 1)
        watcher = await watching(house, ada, topic)
        await asyncio.to_thread(own.stop)
        assert (await watcher.answer(wanted="status"))["live"] is False
        await said(house, topic, 2, 3)
        await asyncio.to_thread(publish_metrics, house.feed(topic), {"value": 9})
        await watcher.send({"type": "ping"})
        await watcher.answer(wanted="pong")
        await asyncio.to_thread(own.start)
        assert (await watcher.answer(wanted="status"))["live"] is True
        await watcher.answer(wanted="gap")
        assert (await watcher.answer(wanted="snapshot"))["data"] == {"value": 3}
        # Whoever could not say his news may have it shown anew once more; what comes now is seen, said or shown.
        await said(house, topic, 4)
        while (await watcher.next()).get("data") != {"value": 4}:
            pass
        await watcher.hang_up()

    run(story)


def test_news_that_could_not_be_said_is_shown_anew(house: House, settings: Settings) -> None:
    ada = house.person()
    topic = house.topic(ada)
    here = settings.REDIS_URL

    async def story() -> None:
        watcher = await watching(house, ada, topic)
        settings.REDIS_URL = "redis://127.0.0.1:1/0"
        await said(house, topic, 1, 2)
        settings.REDIS_URL = here
        await watcher.answer(wanted="gap")
        assert (await watcher.answer(wanted="snapshot"))["data"] == {"value": 2}
        await watcher.hang_up()

    run(story)


def test_only_the_subscription_breaks_and_what_was_missed_is_replayed(house: House, own: OwnValkey) -> None:
    ada = house.person()
    topic = house.topic(ada)

    def cut_and_say() -> None:
        client_of_valkey().client_kill_filter(_type="pubsub")
        house.set(topic, 2)
        house.set(topic, 3)

    async def story() -> None:
        watcher = await watching(house, ada, topic)
        await said(house, topic, 1)
        await watcher.answer(wanted="delta")
        await asyncio.to_thread(cut_and_say)
        assert (await watcher.answer(wanted="status"))["live"] is False
        await watcher.answer(wanted="resumed")
        assert [(await watcher.answer(wanted="delta"))["data"]["value"] for _ in range(2)] == [2, 3]
        assert await watcher.is_quiet()
        await watcher.hang_up()

    run(story)


def test_without_valkey_nobody_is_let_in_and_asked_to_come_again(house: House, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    async def story() -> None:
        watcher = Watcher(house, "vxt_any")
        await watcher.hello()
        assert await watcher.close_code() == 1013

    run(story)


def test_without_the_database_the_socket_stays_but_not_beyond_trust(
    house: House, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Any:
        raise OperationalError("the server is gone")

    settings.VXPU_LIVE_RECHECK_S = 0.2
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        watcher = await watching(house, ada, topic)
        # The connection's own look-ups fail as they do without a database.
        monkeypatch.setattr("plumbing.live.database.system_scope", fail)
        monkeypatch.setattr("plumbing.live.database.tenant_scope", fail)
        await asyncio.sleep(0.6)
        await said(house, topic, 1)
        await watcher.answer(wanted="delta")
        monkeypatch.setattr("plumbing.live.consumer.TRUST_S", 0.5)
        assert await watcher.close_code() == 1013

    run(story)


def test_a_snapshot_waits_for_the_database(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = house.person()

    def fail(*_: object) -> Any:
        raise OperationalError("the server is gone")

    monkeypatch.setattr("plumbing.live.consumer.AGAIN_S", 0.3)

    async def story() -> None:
        watcher = await watching(house, ada, house.topic(ada, "a"))
        with monkeypatch.context() as away:
            away.setattr("plumbing.live.database.tenant_scope", fail)
            for name in ("b", "c"):
                await watcher.subscribe(house.topic(ada, name))
            await watcher.send({"type": "unsubscribe", "topic": house.topic(ada, "c")})
            assert await watcher.is_quiet()
        assert (await watcher.answer(wanted="snapshot"))["topic"] == house.topic(ada, "b")
        assert await watcher.is_quiet()
        await watcher.hang_up()

    run(story)


def test_a_killed_process_is_left_and_the_tab_goes_on_at_another(house: House) -> None:
    ada = house.person()
    topic = house.topic(ada)

    async def story() -> None:
        first = await asyncio.to_thread(elsewhere, watching(house, ada, topic))
        await said(house, topic, 1)
        since = (await asyncio.to_thread(elsewhere, first.answer(wanted="delta")))["seq"]
        await said(house, topic, 2)
        await asyncio.to_thread(elsewhere.freeze)
        await said(house, topic, 3)
        second = await Watcher.of(house, ada)
        await second.hello()
        await second.subscribe(topic, since)
        await second.answer(wanted="resumed")
        assert [(await second.answer(wanted="delta"))["data"]["value"] for _ in range(2)] == [2, 3]
        await second.hang_up()

    with OtherProcess() as elsewhere:
        run(story)
