"""Idempotency-Key: one effect whatever is repeated, raced or killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from plumbing.api import idempotency
from plumbing.models import IdempotencyKey, OutboxEvent
from plumbing.rowsec import system_scope
from tests.racing import race
from tests.servers import Servers, url_of

pytestmark = pytest.mark.urls("tests.plumbing.doors")
ROOT = Path(__file__).resolve().parents[2]


def ring(key: str | None = "k1", **body: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    client = APIClient(raise_request_exception=False)
    return client.post("/ring", {"word": "ding", **body}, format="json", headers=headers)


def rings() -> int:
    with system_scope():
        return OutboxEvent.objects.count()


@pytest.mark.django_db
@pytest.mark.parametrize("key", [None, "", "x" * 256, "snow\u2603"])
def test_key_is_required_and_sane(key: str | None) -> None:
    answer = ring(key)
    assert (answer.status_code, answer.json()["code"]) == (400, "idempotency_key_missing")
    assert rings() == 0


@pytest.mark.django_db
def test_a_repeat_gets_the_stored_answer() -> None:
    first, second = ring(), ring()
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == first.json()
    assert (first.headers.get("Idempotency-Replayed"), second.headers["Idempotency-Replayed"]) == (None, "true")
    assert rings() == 1


@pytest.mark.django_db
def test_another_body_under_the_key_is_refused() -> None:
    ring()
    answer = ring(word="dong")
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert rings() == 1


@pytest.mark.django_db
def test_an_answer_is_for_the_user_who_asked() -> None:
    ring()
    client = APIClient(raise_request_exception=False)
    headers = {"Idempotency-Key": "k1", "X-Who": "ring:write someone-else"}
    answer = client.post("/ring", {"word": "ding"}, format="json", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")


@pytest.mark.django_db
@pytest.mark.parametrize(("fault", "status"), [("conflict", 409), ("bug", 500)])
def test_an_error_stores_nothing_and_gives_the_key_back(fault: str, status: int) -> None:
    assert ring(fault=fault).status_code == status
    assert rings() == 0
    assert ring().status_code == 201


@pytest.mark.django_db
def test_bad_input_gives_the_key_back() -> None:
    answer = ring(count=0)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/count")
    assert ring().status_code == 201


@pytest.mark.django_db
def test_an_answer_is_kept_for_a_day(settings: Settings) -> None:
    settings.VXPU_IDEMPOTENCY_TTL = timedelta(0)
    ring()
    assert ring().status_code == 201
    assert rings() == 2
    with system_scope():
        assert idempotency.purge(now=timezone.now()) == 1
        assert IdempotencyKey.objects.count() == 0


def test_ten_at_once_do_it_once(committed_db: str) -> None:
    answers = race(*[lambda: ring(hold_s=0.2)] * 10)
    codes = Counter(answer.status_code for answer in answers)
    assert codes == {201: 1, 409: 9}
    waiting = [answer for answer in answers if answer.status_code == 409]
    assert {(answer.json()["code"], answer.headers["Retry-After"]) for answer in waiting} == {
        ("idempotency_in_flight", "1")
    }
    assert rings() == 1
    assert ring(hold_s=0.2).headers["Idempotency-Replayed"] == "true"


def test_a_slow_request_that_was_overtaken_rolls_back(committed_db: str, settings: Settings) -> None:
    settings.VXPU_IDEMPOTENCY_LEASE_S = 0

    def ring_later() -> Any:
        time.sleep(0.2)
        return ring(hold_s=0.4)

    answers = race(lambda: ring(hold_s=0.4), ring_later)
    assert [answer.status_code for answer in answers] == [409, 201]
    assert rings() == 1


def ring_in_another_process(servers: Servers, database: str, fault: str) -> int:
    """The exit status of a process that rings under k1 with a lease of 1 s and breaks off at `fault`."""
    program = (
        "import django; django.setup()\n"
        "from django.conf import settings; settings.ROOT_URLCONF = 'tests.plumbing.doors'\n"
        "from tests.plumbing.test_idempotency import ring\n"
        f"ring(fault={fault!r} )\n"
    )
    environment = {
        **os.environ, "DJANGO_SETTINGS_MODULE": "config.settings.test", "VXPU_IDEMPOTENCY_LEASE_S": "1",
        "DATABASE_URL": url_of(servers, database), "VXPU_TEST_MAY_DIE": "1",
    }  # fmt: skip
    return subprocess.run([sys.executable, "-c", program], env=environment, cwd=ROOT, check=False).returncode


def test_killed_inside_the_work_is_done_by_a_later_try(committed_db: str, servers: Servers) -> None:
    assert ring_in_another_process(servers, committed_db, "killed inside") == -9
    assert rings() == 0
    early = ring(fault="killed inside")
    assert (early.status_code, early.json()["code"]) == (409, "idempotency_in_flight")
    time.sleep(1.1)  # the dead process's lease
    assert ring(fault="killed inside").status_code == 201
    assert rings() == 1


def test_killed_after_the_commit_is_answered_from_the_store(committed_db: str, servers: Servers) -> None:
    assert ring_in_another_process(servers, committed_db, "killed after commit") == -9
    assert rings() == 1
    again = ring(fault="killed after commit")
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert rings() == 1
