"""A program through the server: the tenant's stream at one end, the node's connection at the other."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import redis.asyncio
from pytest_django import Settings
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from allocator.live import exec_consumer
from allocator.services import _exec_keys as keys
from plumbing.live.bus import bus
from plumbing.live.valkey import valkey
from tests.allocator.factories import Node, book, make_wish
from tests.allocator.links import Client, Link, OtherProcess, greeted, now, poked, run, sync_frame
from tests.identity.factories import Person, make_tenant
from vxpu.ids import encode
from vxpu.market import LeaseView
from vxpu.wire.node import WINDOW_FRAMES

pytestmark = pytest.mark.usefixtures("committed_system")


class Ordered:
    """A program that Ada has a ticket for, and its far ends."""

    def __init__(self) -> None:
        self.node = Node(now=now())
        self.ada: Person = make_tenant()
        booked = book(make_wish(starts_at=now() - timedelta(minutes=5)), now=now(), tenant_id=self.ada.tenant_id)
        self.lease: LeaseView = self.node.start(booked, now=now())
        self.path = f"/api/v1/leases/{encode('lse', self.lease.id)}/execs"
        self.order()

    def order(self) -> None:
        made = self.ada.client.post(self.path, {"argv": ["train"], "env": {"A": "1"}}, format="json").json()
        self.id, self.ticket = made["id"], made["ticket"]

    def log(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ada.client.get(f"{self.path}/{self.id}").json()
        return found

    async def connected(self) -> Link:
        link = await greeted(self.node)
        await poked(link, self.node)
        return link

    async def opened(self) -> Client:
        client = Client(self.ticket)
        await client.connect()
        return client

    async def started(self, link: Link) -> Client:
        """Both ends, the program running."""
        client = await self.opened()
        await link.answer(wanted="exec")
        await link.send(self.frame("started", lease_id="lse_x", isolation="limiter-strict"))
        await client.answer(wanted="started")
        return client

    def frame(self, kind: str, **values: Any) -> dict[str, Any]:
        return {"type": kind, "exec_id": self.id, **values}

    def output(self, text: str, stream: str = "stdout") -> dict[str, Any]:
        return self.frame("output", stream=stream, data=base64.b64encode(text.encode()).decode())


@pytest.fixture
def program() -> Ordered:
    return Ordered()


def test_it_runs_and_what_it_wrote_is_read_again(program: Ordered) -> None:
    async def story() -> None:
        link = await program.connected()
        client = await program.opened()
        asked = await link.answer(wanted="exec")
        assert (asked["exec_id"], asked["argv"], asked["env"]) == (program.id, ["train"], {"A": "1"})
        await link.send(program.frame("started", lease_id="lse_x", isolation="limiter-strict"))
        await link.send(program.output("hi"))
        await link.send(program.output("oops", "stderr"))
        await link.send(program.frame("exit", code=7))
        kinds = [await client.next() for _ in range(4)]
        assert [one["type"] for one in kinds] == ["started", "output", "output", "ended"]
        assert (kinds[1]["data"], kinds[2]["stream"], kinds[3]["code"]) == ("aGk=", "stderr", 7)
        assert await client.close_code() == 1000
        await link.hang_up()

    run(story)
    log = program.log()
    assert (log["exec"]["running"], log["exec"]["code"], log["exec"]["platform"]) == (False, 7, "")
    assert log["output"] == [{"stream": "stdout", "data": "aGk="}, {"stream": "stderr", "data": "b29wcw=="}]
    assert valkey().zcard(keys.running_key(program.lease.id)) == 0


def test_what_the_reader_says_reaches_the_program(program: Ordered) -> None:
    async def story() -> None:
        link = await program.connected()
        client = await program.opened()
        await link.answer(wanted="exec")
        await client.send({"type": "signal", "signal": 2})  # too early: it waits for the start
        assert await link.is_quiet()
        await link.send(program.frame("started", lease_id="lse_x", isolation="limiter-strict"))
        assert (await link.answer(wanted="signal"))["signal"] == 2
        await client.send({"type": "taken", "frames": 3})
        assert (await link.answer(wanted="taken"))["frames"] == 3
        await link.hang_up()

    run(story)


@pytest.mark.parametrize("token", ["", "vxx_unknown"])
def test_without_a_ticket_there_is_no_stream(program: Ordered, token: str) -> None:
    async def story() -> None:
        client = Client(token)
        await client.connect()
        assert await client.close_code() == 4401

    run(story)


def test_a_ticket_opens_one_stream(program: Ordered) -> None:
    async def story() -> None:
        link = await program.connected()
        await program.started(link)
        assert await (await program.opened()).close_code() == 4401
        await link.hang_up()

    run(story)


@pytest.mark.parametrize("frame", ["no json", '{"type": "signal", "signal": 99}', '{"type": "x"}', " " * 2000])
def test_a_frame_that_is_none_closes_the_stream(program: Ordered, frame: str) -> None:
    async def story() -> None:
        link = await program.connected()
        client = await program.started(link)
        await client.send(frame)
        assert await client.close_code() == 4400
        await client.hang_up()
        await link.answer(wanted="hangup")
        await link.hang_up()

    run(story)


def test_a_node_that_goes_away_ends_it_for_the_reader(program: Ordered) -> None:
    async def story() -> None:
        link = await program.connected()
        client = await program.started(link)
        await link.send(program.output("half"))
        await client.answer(wanted="output")
        await link.hang_up()
        assert (await client.answer(wanted="ended"))["platform"] == "node_lost"

    run(story)
    log = program.log()
    assert (log["exec"]["platform"], log["output"][0]["data"]) == ("node_lost", "aGFsZg==")


def test_a_node_that_does_not_answer_is_not_waited_for(program: Ordered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exec_consumer, "START_S", 0.1)

    async def story() -> None:
        link = await program.connected()
        client = await program.opened()
        await link.answer(wanted="exec")
        assert (await client.answer(wanted="ended"))["platform"] == "node_lost"
        await link.answer(wanted="hangup")
        await link.hang_up()

    run(story)
    assert program.log()["exec"]["running"] is False


def test_what_the_node_refuses_is_told_with_its_code(program: Ordered) -> None:
    async def story() -> None:
        link = await program.connected()
        client = await program.opened()
        await link.answer(wanted="exec")
        await link.send(program.frame("exit", code=126, detail="no_such_program: train: not found"))
        told = await client.answer(wanted="refused")
        assert (told["code"], told["detail"]) == ("no_such_program", "train: not found")
        await link.hang_up()

    run(story)
    assert program.log()["exec"]["platform"] == "refused: no_such_program"


def test_a_node_may_not_speak_of_anothers_program(program: Ordered) -> None:
    stranger = Node(now=now())

    async def story() -> None:
        link, other = await program.connected(), await greeted(stranger)
        client = await program.started(link)
        for frame in (program.output("forged"), program.frame("exit", code=0),
                      program.frame("started", lease_id="x", isolation="x")):  # fmt: skip
            await other.send(frame)
            assert (await other.answer(wanted="refused"))["code"] == "no_such_exec"
        assert await client.is_quiet()
        await link.hang_up()
        await other.hang_up()

    run(story)
    assert program.log()["output"] == []


@pytest.mark.parametrize("frame", [
    {"type": "output", "stream": "stdout", "data": "!"}, {"type": "started", "lease_id": "x", "isolation": "x"},
    {"type": "output", "stream": "stdout", "data": "A" * 90_000},
])  # fmt: skip
def test_a_nodes_frame_that_cannot_be_passed_on_is_refused(program: Ordered, frame: dict[str, Any]) -> None:
    async def story() -> None:
        link = await program.connected()
        client = await program.started(link)
        await link.send({**frame, "exec_id": program.id})
        assert (await link.answer(wanted="refused"))["code"] == "bad_frame"
        assert await client.is_quiet()
        await link.hang_up()

    run(story)


def test_a_reader_who_leaves_ends_it_and_its_last_words_are_kept(program: Ordered) -> None:
    async def story() -> None:
        link = await program.connected()
        client = await program.started(link)
        await client.hang_up()
        await link.answer(wanted="hangup")
        assert (await link.answer(wanted="taken"))["frames"] == WINDOW_FRAMES
        await link.send(program.output("saved"))
        assert (await link.answer(wanted="taken"))["frames"] == 1
        await link.send(program.frame("exit", code=143))
        assert await link.is_quiet()
        await link.hang_up()

    run(story)
    log = program.log()
    assert (log["exec"]["code"], log["output"][0]["data"]) == (143, "c2F2ZWQ=")
    assert valkey().zcard(keys.running_key(program.lease.id)) == 0


def test_a_node_that_floods_fills_no_memory_and_the_gap_is_said(program: Ordered, settings: Settings) -> None:
    settings.VXPU_EXEC_LOG_KIB = 1

    async def story() -> None:
        link = await program.connected()
        client = await program.started(link)
        gate = asyncio.Event()
        client.stall(gate)
        for _ in range(40):
            await link.send(program.output("x" * 48_000))
        await link.send(program.frame("exit", code=0))
        await link.is_quiet()
        gate.set()
        await client.answer(wanted="truncated")
        await client.answer(wanted="ended")
        await link.hang_up()

    run(story)
    log = program.log()
    assert log["truncated"] is True
    assert 0 < sum(len(part["data"]) for part in log["output"]) < 500_000


def test_many_tiny_outputs_are_bounded_too(program: Ordered, settings: Settings) -> None:
    settings.VXPU_EXEC_LOG_KIB = 1

    async def story() -> None:
        link = await program.connected()
        await program.started(link)
        for _ in range(2000):
            await link.send(program.output("."))
        await link.send(program.frame("exit", code=0))
        await link.is_quiet()
        await link.hang_up()

    run(story)
    assert int(str(valkey().xlen(keys.stream_key(program.id)))) < 1300


def test_two_sockets_processes_pass_it_on(program: Ordered) -> None:
    async def story() -> None:
        link = await program.connected()
        client = await asyncio.to_thread(elsewhere, program.opened())
        await link.answer(wanted="exec")
        await link.send(program.frame("started", lease_id="lse_x", isolation="limiter-strict"))
        await link.send(program.output("hi"))
        assert (await asyncio.to_thread(elsewhere, client.answer(wanted="output")))["data"] == "aGk="
        await asyncio.to_thread(elsewhere, client.send({"type": "signal", "signal": 15}))
        assert (await link.answer(wanted="signal"))["signal"] == 15
        await link.send(program.frame("exit", code=5))
        assert (await asyncio.to_thread(elsewhere, client.answer(wanted="ended")))["code"] == 5
        await link.hang_up()

    with OtherProcess() as elsewhere:
        run(story)


@pytest.fixture
def quick_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "BEAT_S", 0.3)
    monkeypatch.setattr(keys, "ALIVE_S", 1)


@pytest.mark.usefixtures("quick_beats")
def test_a_killed_process_of_the_reader_ends_the_program(program: Ordered) -> None:
    async def story() -> None:
        link = await program.connected()
        client = await asyncio.to_thread(elsewhere, program.opened())
        await link.answer(wanted="exec")
        await link.send(program.frame("started", lease_id="lse_x", isolation="limiter-strict"))
        await asyncio.to_thread(elsewhere, client.answer(wanted="started"))
        await asyncio.to_thread(elsewhere.freeze)
        await link.answer(wanted="hangup")
        await link.hang_up()

    with OtherProcess() as elsewhere:
        run(story)


@pytest.mark.usefixtures("quick_beats")
def test_a_killed_process_of_the_node_ends_it_for_the_reader(program: Ordered) -> None:
    async def story() -> None:
        link = await asyncio.to_thread(elsewhere, program.connected())
        client = await program.opened()
        await asyncio.to_thread(elsewhere, link.answer(wanted="exec"))
        await asyncio.to_thread(
            elsewhere, link.send(program.frame("started", lease_id="lse_x", isolation="limiter-strict"))
        )
        await client.answer(wanted="started")
        await asyncio.to_thread(elsewhere.freeze)
        assert (await client.answer(wanted="ended"))["platform"] == "node_lost"

    with OtherProcess() as elsewhere:
        run(story)


@contextmanager
def valkey_away() -> Iterator[None]:
    """This process's commands reach nobody; what it has subscribed to is still heard."""
    before = bus().valkey
    bus().valkey = redis.asyncio.Redis.from_url("redis://127.0.0.1:1/0", retry=Retry(NoBackoff(), 0))
    yield
    bus().valkey = before


def test_without_valkey_the_reader_is_told(program: Ordered) -> None:
    async def story() -> None:
        link = await program.connected()
        client = await program.started(link)
        with valkey_away():
            assert (await client.answer(wanted="ended"))["platform"] == "unavailable"
            late = await program.opened()
            assert await late.close_code() == 1013
        await link.hang_up()

    run(story)


def test_without_valkey_the_program_is_ended_and_its_nodes_heartbeats_go_on(program: Ordered) -> None:
    async def story() -> None:
        link = await program.connected()
        with valkey_away():
            await asyncio.to_thread(elsewhere, program.opened())
            await link.answer(wanted="exec")
            await link.send(program.frame("started", lease_id="lse_x", isolation="limiter-strict"))
            await link.answer(wanted="hangup")
            await link.send(sync_frame(program.node))
            await link.answer(wanted="desired")
        await link.hang_up()

    with OtherProcess() as elsewhere:
        run(story)
