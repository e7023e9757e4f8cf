"""The agents' socket, through Channels, against committed rows and a real Valkey."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection

from allocator.live.hub import Hub
from allocator.locks import lock_node
from allocator.models import Pulse
from allocator.services import enrol, poke
from plumbing import db
from plumbing.live.bus import bus
from tests.allocator.factories import Node, book, make_wish
from tests.allocator.links import HELLO, Link, greeted, in_system, now, poked, run, sync_frame
from tests.racing import OtherConnection
from tests.servers import Servers, admin
from vxpu.ids import encode

pytestmark = pytest.mark.usefixtures("committed_system")


@pytest.fixture
def node() -> Node:
    return Node(now=now())


@db.transaction
def hold_node(node_id: UUID, *, seconds: float) -> None:
    lock_node(node_id=node_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", [seconds])


def test_a_sync_is_answered_with_the_desired_state(node: Node) -> None:
    lease = book(make_wish(starts_at=now() - timedelta(seconds=1)), now=now())

    async def story() -> None:
        link = await greeted(node)
        await link.send(sync_frame(node))
        desired = await link.answer(wanted="desired")
        assert desired["answers_seq"] == 7
        assert [order["lease_id"] for order in desired["leases"]] == [encode("lse", lease.id)]
        await link.hang_up()

    run(story)


def test_a_poke_reaches_the_node_that_is_named(node: Node) -> None:
    other = Node(now=now())

    async def story() -> None:
        link, quiet = await greeted(node), await greeted(other)
        await poked(link, node)
        while not await quiet.is_quiet():  # each may have heard one when the hub subscribed
            await quiet.answer(wanted="poke")
        await poked(link, node)
        assert await quiet.is_quiet()
        await link.hang_up()
        await quiet.hang_up()

    run(story)


def test_the_clock_pokes_at_the_very_start(node: Node) -> None:
    async def story() -> None:
        link = await greeted(node)
        await poked(link, node)
        starts_at = now() + timedelta(seconds=3)
        await in_system(lambda: book(make_wish(starts_at=starts_at), now=now()))
        await link.send(sync_frame(node))
        assert (await link.answer(wanted="desired"))["leases"] == []
        while now() < starts_at:
            await link.answer(wanted="poke")
        assert now() - starts_at < timedelta(seconds=0.8)
        await link.hang_up()

    run(story)


def test_a_revoked_node_is_put_out_at_once(node: Node) -> None:
    async def story() -> None:
        link = await greeted(node)
        await poked(link, node)
        await in_system(lambda: enrol.revoke(node_id=node.id, reason="sold", now=now()))
        await sync_to_async(poke.close)(node_id=node.id)
        assert await link.close_code() == 4403

    run(story)


def test_a_revoked_node_is_found_out_at_its_next_heartbeat(node: Node) -> None:
    async def story() -> None:
        link = await greeted(node)
        await poked(link, node)
        await in_system(lambda: enrol.revoke(node_id=node.id, reason="sold", now=now()))
        await link.send(sync_frame(node))
        assert await link.close_code() == 4403

    run(story)


@pytest.mark.parametrize("token", ["", "nonsense"])
def test_a_token_that_does_not_hold_closes_with_4401(token: str) -> None:
    async def story() -> None:
        link = Link(token)
        await link.connect()
        assert await link.close_code() == 4401

    run(story)


def test_a_token_opens_one_socket(node: Node) -> None:
    token = node.token(now=now())

    async def story() -> None:
        first, replay = Link(token), Link(token)
        await first.connect()
        await first.send(HELLO)
        await first.send(sync_frame(node))
        await first.answer(wanted="desired")
        await replay.connect()
        assert await replay.close_code() == 4401
        await first.hang_up()

    run(story)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("not json", "bad_frame"),
        ('{"type": "desired"}', "bad_frame"),
        ('{"type": "sync", "seq": "x"}', "bad_frame"),
        (json.dumps({**HELLO, "wire_version": 99}), "wire_version"),
        ('{"type": "exit", "exec_id": "x", "code": 0}', "no_such_exec"),
        (" " * (1024 * 1024 + 1), "bad_frame"),
    ],
)
def test_a_frame_that_cannot_be_taken_is_refused_and_the_socket_stays(node: Node, frame: str, code: str) -> None:
    async def story() -> None:
        link = await greeted(node)
        await link.send(frame)
        assert (await link.answer(wanted="refused"))["code"] == code
        await link.send(sync_frame(node))
        await link.answer(wanted="desired")
        await link.hang_up()

    run(story)


@pytest.mark.parametrize(
    "wrong", [{"capacity_mib": 2**33}, {"model": "a\0b"}, {"key": "twice"}, {"capacity_mib": 2**70}]
)
def test_a_sync_that_contradicts_itself_is_refused_and_the_socket_stays(node: Node, wrong: dict[str, Any]) -> None:
    async def story() -> None:
        link = await greeted(node)
        frame = sync_frame(node)
        devices = [{**frame["devices"][0], **wrong} for _ in range(2)]
        await link.send({**frame, "devices": devices[: 1 + ("key" in wrong)]})
        assert (await link.answer(wanted="refused"))["code"] == "bad_frame"
        await link.send(sync_frame(node))
        await link.answer(wanted="desired")
        await link.hang_up()

    run(story)


def test_without_valkey_a_node_is_served_at_its_heartbeats(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    poke.poke_all(node_ids=[node.id])

    async def story() -> None:
        link = await greeted(node)
        await link.send(sync_frame(node))
        await link.answer(wanted="desired")
        await link.hang_up()

    run(story)


def test_the_process_beats_its_pulse() -> None:
    async def story() -> None:
        ours = Hub(bus())
        ours.start()
        for _ in range(100):
            if await in_system(Pulse.objects.filter(part="door").exists):
                break
            await asyncio.sleep(0.05)
        await ours.stop()
        assert await in_system(Pulse.objects.filter(part="door").exists)

    run(story)


def test_a_node_that_waits_for_a_row_holds_up_no_other(node: Node) -> None:
    other = Node(now=now())

    async def story() -> None:
        waiting, quick = await greeted(node), await greeted(other)
        with OtherConnection() as rival:
            held = rival.start(partial(hold_node, node.id, seconds=1.5))
            await asyncio.sleep(0.3)
            await waiting.send(sync_frame(node))
            began = now()
            await quick.send(sync_frame(other))
            await quick.answer(wanted="desired")
            assert now() - began < timedelta(seconds=1)
            await waiting.answer(wanted="desired")
            held(10)
        await waiting.hang_up()
        await quick.hang_up()

    run(story)


def test_while_the_database_is_away_the_socket_stays(node: Node, servers: Servers, committed_system: str) -> None:
    async def story() -> None:
        link = await greeted(node)
        await link.send(sync_frame(node))
        await link.answer(wanted="desired")
        admin(servers, f"ALTER DATABASE {committed_system} ALLOW_CONNECTIONS false")
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        admin(servers, f"{cut}'{committed_system}'")
        await link.send(sync_frame(node))
        assert (await link.answer(wanted="refused"))["code"] == "unavailable"
        admin(servers, f"ALTER DATABASE {committed_system} ALLOW_CONNECTIONS true")
        await link.send(sync_frame(node))
        await link.answer(wanted="desired")
        await link.hang_up()

    run(story)
