"""kill -9 of the process that works, before its commit: nothing sold, nothing charged, nothing forgotten."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from billing import facade as billing
from marketplace.models import Quote, Reservation
from marketplace.services import quote, rate, reserve
from tests.marketplace.factories import HOUR, MINUTE, NOON, buy, lease_of, make_buyer, make_order, make_price
from tests.marketplace.node import Node
from tests.servers import Servers, url_of

ROOT = Path(__file__).resolve().parents[2]
# The work runs inside a door's transaction, as behind REST; the process dies with it open.
DIE = """
import os, signal, sys
import django
django.setup()
from plumbing import db
from plumbing.rowsec import system_scope
from tests.marketplace import test_crash as work
with system_scope(), db.door():
    getattr(work, sys.argv[1])(*sys.argv[2:])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def work_and_die(servers: Servers, database: str, *arguments: str) -> int:
    environment = {
        **os.environ, "DJANGO_SETTINGS_MODULE": "config.settings.test", "DATABASE_URL": url_of(servers, database),
        "REDIS_URL": servers.redis_url, "VXPU_AUTHORITY_S": "86400", "VXPU_FAILURE_TIMEOUT_S": "86405",
        "VXPU_SERVER_KEY_FILE": str(settings.VXPU_SERVER_KEY_FILE),
    }  # fmt: skip
    return subprocess.run([sys.executable, "-c", DIE, *arguments], env=environment, cwd=ROOT, check=False).returncode


def rate_all() -> None:
    """In the process that dies."""
    assert rate.rate_dirty(now=NOON + HOUR) > 0


def buy_one() -> None:
    """In the process that dies."""
    buy(make_buyer())


def confirm(quote_id: str) -> None:
    """In the process that dies."""
    seen = Quote.objects.get(pk=quote_id)
    made = reserve.buy_quoted(quote_id=seen.pk, requested_by=seen.requested_by, actor="user:test", now=NOON)
    assert made.row.quote_id == seen.pk


@pytest.mark.usefixtures("committed_system")
def test_a_quote_whose_purchase_was_killed_can_still_be_used_once(committed_db: str, servers: Servers) -> None:
    make_price("3.20")
    Node(now=NOON)
    ada = make_buyer()
    told = quote.quote(order=make_order(ada), requested_by=ada.person.user.pk, actor="user:test", now=NOON).quote
    assert work_and_die(servers, committed_db, "confirm", str(told.pk)) == -9
    assert (Reservation.objects.count(), Quote.objects.get().used_at) == (0, None)
    confirm(str(told.pk))
    assert (Reservation.objects.count(), Quote.objects.get().used_at) == (1, NOON)


@pytest.mark.usefixtures("committed_system")
def test_a_rater_killed_before_its_commit_loses_no_window(committed_db: str, servers: Servers) -> None:
    make_price("3.20")
    node = Node(now=NOON)
    row = buy(make_buyer())
    node.beat(now=NOON)
    node.use(lease_of(row), window_start=NOON, used_permille_s=6_000, now=NOON + MINUTE)
    assert work_and_die(servers, committed_db, "rate_all") == -9
    wanted: dict[str, Any] = {"sources": [lease_of(row)], "starts_at": NOON, "ends_at": NOON + HOUR}
    assert billing.charged_lines(**wanted) == []
    rate.rate_dirty(now=NOON + HOUR)
    assert {line.kind: line.quantity for line in billing.charged_lines(**wanted)} == {
        "used": 6_000, "idle": 250 * 3600 - 6_000,
    }  # fmt: skip


@pytest.mark.usefixtures("committed_system")
def test_a_purchase_killed_before_its_commit_takes_nothing(committed_db: str, servers: Servers) -> None:
    make_price("3.20")
    Node(now=NOON)
    assert work_and_die(servers, committed_db, "buy_one") == -9
    assert Reservation.objects.count() == 0
    assert buy(make_buyer(), memory_mib=8192, share_permille=1000).state == "confirmed"
