"""A tab's end of the live socket, and a topic that no room has: what is said in it, and who may watch."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self
from uuid import UUID

from asgiref.sync import sync_to_async

from config.sockets import TOPICS, find_principals
from plumbing.errors import NotFound
from plumbing.live import tickets
from plumbing.live.consumer import LiveConsumer
from plumbing.live.credentials import Credential
from plumbing.live.publish import publish
from plumbing.live.topics import Topic, Topics, View
from plumbing.principal import Principal
from tests.allocator.links import Link
from tests.identity.factories import Person
from vxpu.ids import new_uuid
from vxpu.wire.live import LIVE_PATH


@dataclass
class House:
    """Who holds which credential, and a room of counters: `counter/{tenant}/{name}`, one tenant's each."""

    people: dict[Credential, Principal] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    reads: int = 0
    kept: int = 0
    word: str = field(default_factory=lambda: new_uuid().hex)

    def person(self) -> Credential:
        user_id, tenant_id, token_id = new_uuid(), new_uuid(), new_uuid()
        credential = Credential(kind="token", id=token_id, user_id=user_id)
        self.people[credential] = Principal(user_id=user_id, tenant_id=tenant_id, name="Ada", token_id=token_id)
        return credential

    def topic(self, who: Credential, name: str = "a") -> str:
        return f"counter/{self.people[who].tenant_id}/{name}"

    def feed(self, topic: str) -> str:
        """Of this house only: stories that run at once share a Valkey."""
        return f"{topic}:{self.word}"

    def narrow(self, who: Credential, **rights: Any) -> None:
        self.people[who] = replace(self.people[who], **rights)

    def find_principals(self, asked: Collection[Credential]) -> Mapping[Credential, Principal]:
        return {one: self.people[one] for one in asked if one in self.people}

    def set(self, topic: str, value: int) -> None:
        """A change of state, as a service makes it."""
        self.values[topic] = value
        publish(self.feed(topic), {"value": value})

    def _open(self, principal: Principal, parts: Mapping[str, str]) -> View:
        if UUID(parts["tenant"]) != principal.tenant_id:
            raise NotFound("There is no such counter.")
        topic = f"counter/{parts['tenant']}/{parts['name']}"

        def snapshot() -> dict[str, int]:
            self.reads += 1
            return {"value": self.values.get(topic, 0)}

        async def keep() -> None:
            self.kept += 1

        return View(feed=self.feed(topic), snapshot=snapshot, keep=keep)

    def topics(self) -> Topics:
        return Topics([Topic(pattern="counter/{tenant}/{name}", open=self._open, period_s=0.2, keep_s=0.2)])


class Tab(Link):
    """A tab's socket to the product's own topics; `ticket` is the one of REST."""

    path = LIVE_PATH

    def __init__(self, ticket: str, *, origin: str = "") -> None:
        self.ticket, self.origin = ticket, origin
        super().__init__("")

    @classmethod
    async def opened_by(cls, person: Person) -> Self:
        """Welcomed."""
        answer = await sync_to_async(lambda: person.client.post("/api/v1/live-tickets"))()
        assert answer.status_code == 201, answer.content
        tab = cls(answer.json()["ticket"])
        await tab.hello()
        await tab.answer(wanted="welcome")
        return tab

    def make_app(self) -> Any:
        return LiveConsumer.as_asgi(topics=TOPICS, find_principals=find_principals)

    def headers(self, token: str) -> list[tuple[bytes, bytes]]:  # noqa: ARG002 - a tab sends none
        return [(b"origin", self.origin.encode())] if self.origin else []

    async def hello(self) -> None:
        await self.connect()
        await self.send({"type": "hello", "ticket": self.ticket, "v": 1})

    async def subscribe(self, topic: str, since: str = "") -> None:
        await self.send({"type": "subscribe", "topic": topic, "since": since})


class Watcher(Tab):
    """A tab in a house. Made by `Watcher.of`, so that it has a ticket."""

    def __init__(self, house: House, ticket: str, *, origin: str = "") -> None:
        self.house = house
        super().__init__(ticket, origin=origin)

    @classmethod
    async def of(cls, house: House, who: Credential, *, origin: str = "") -> Watcher:
        return cls(house, await ticket_for(who), origin=origin)

    def make_app(self) -> Any:
        return LiveConsumer.as_asgi(topics=self.house.topics(), find_principals=self.house.find_principals)


async def ticket_for(who: Credential) -> str:
    return await sync_to_async(lambda: tickets.issue("live", who.model_dump_json()))()


async def watching(house: House, who: Credential, topic: str = "", since: str = "") -> Watcher:
    """Welcomed, and past its snapshot."""
    watcher = await Watcher.of(house, who)
    await watcher.hello()
    await watcher.answer(wanted="welcome")
    if topic:
        await watcher.subscribe(topic, since)
        await watcher.answer(wanted="snapshot")
    return watcher


async def said(house: House, topic: str, *values: int) -> None:
    for value in values:
        await asyncio.to_thread(house.set, topic, value)
