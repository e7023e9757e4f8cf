"""What a log-in refuses, and that the refusal tells nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.conf import LazySettings

from identity.models import AuditEvent
from identity.services import audit
from plumbing.rowsec import system_scope
from tests.hashers import QuickArgon2
from tests.identity.browsers import PASSWORD, Browser, make_login
from tests.identity.factories import Person, make_operator, make_tenant

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]


@pytest.fixture
def ada() -> Person:
    """A tenant's admin with a password."""
    return make_login()


def test_every_wrong_log_in_looks_the_same(ada: Person) -> None:
    nobody, without = "nobody@nowhere.example", make_tenant().user.email
    tries = [
        {"email": ada.user.email, "password": "wrong"}, {"email": nobody, "password": PASSWORD},
        {"email": without, "password": PASSWORD}, {"email": without, "password": ""[:0] + "!"},
    ]  # fmt: skip
    answers = [Browser().log_in(**one) for one in tries]
    assert [answer.status_code for answer in answers] == [401] * 4
    documents = [{**answer.json(), "request_id": ""} for answer in answers]
    assert documents == [documents[0]] * 4
    assert documents[0]["code"] == "wrong_login"
    assert not any(answer.cookies for answer in answers)


def test_every_wrong_log_in_costs_one_hash(ada: Person) -> None:
    without, inactive = make_tenant(), make_login()
    with system_scope():
        inactive.user.is_active = False
        inactive.user.save(update_fields=["is_active"])
    costs = {}
    for email in (ada.user.email, "nobody@nowhere.example", without.user.email, inactive.user.email):
        before = QuickArgon2.hashed
        assert Browser().log_in(email=email, password="wrong").status_code == 401
        costs[email] = QuickArgon2.hashed - before
    assert set(costs.values()) == {1}, costs


def test_ten_wrong_ones_close_the_account_for_a_while(ada: Person, settings: LazySettings) -> None:
    settings.VXPU_LOGIN_WINDOW_S = 60
    tries = [Browser().log_in(email=ada.user.email.upper(), password="wrong").status_code for _ in range(10)]
    assert tries == [401] * 10
    right = Browser().log_in(email=ada.user.email, password=PASSWORD)
    assert (right.status_code, right.json()["code"]) == (429, "too_many_attempts")
    assert 1 <= int(right.headers["Retry-After"]) <= 60
    assert Browser().log_in(token=ada.secret).status_code == 201  # who has a token is not locked out
    with system_scope():
        assert AuditEvent.objects.filter(action="session.refused", subject=str(ada.user.pk)).count() == 10
        assert audit.verify(tenant_id=ada.tenant_id) > 10


def test_a_right_one_in_between_starts_the_count_anew(ada: Person) -> None:
    for _ in range(2):
        for _ in range(9):
            assert Browser().log_in(email=ada.user.email, password="wrong").status_code == 401
        assert Browser().log_in(email=ada.user.email, password=PASSWORD).status_code == 201


def test_the_window_ends(ada: Person, settings: LazySettings) -> None:
    settings.VXPU_LOGIN_TRIES, settings.VXPU_LOGIN_WINDOW_S = 1, 1
    Browser().log_in(email=ada.user.email, password="wrong")
    assert Browser().log_in(email=ada.user.email, password=PASSWORD).status_code == 429
    time.sleep(1.1)
    assert Browser().log_in(email=ada.user.email, password=PASSWORD).status_code == 201


def test_one_address_does_not_try_many_accounts(settings: LazySettings) -> None:
    settings.VXPU_LOGIN_TRIES_PER_ADDRESS = 3
    browser = Browser()
    tries = [browser.log_in(email=f"u{number}@x.example", password="guess").status_code for number in range(4)]
    assert tries == [401, 401, 401, 429]
    assert browser.log_in(token="vxp_pat_guess").status_code == 429
    assert Browser().log_in(email="u9@x.example", password="guess").status_code == 401


def test_without_valkey_people_come_in(ada: Person, settings: LazySettings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert [Browser().log_in(email=ada.user.email, password="wrong").status_code for _ in range(11)] == [401] * 11
    assert Browser().log_in(email=ada.user.email, password=PASSWORD).status_code == 201


def test_an_unknown_user_is_told_to_the_operator_without_what_was_typed() -> None:
    operator = make_operator()
    Browser().log_in(email="secret-typed-here@x.example", password="guess")
    event = operator.client.get("/api/v1/audit-events").json()["items"][0]
    assert (event["action"], event["subject"]) == ("session.refused", "unknown user")
    assert "secret-typed-here" not in str(event)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400), ({"email": "a@b.example"}, 400), ({"password": "x"}, 400), ({"token": ""}, 400),
        ({"email": "a@b.example", "password": "x", "token": "y"}, 400), ({"email": "a@b.example", "password": 7}, 401),
        ({"email": "no address", "password": "x"}, 400), ({"email": "a@b.example", "password": "x" * 1025}, 400),
        ({"email": "a@b.example", "password": "a\x00b"}, 400), ({"token": "vxp_pat_" + "x" * 193}, 400),
        ({"email": "a@b.example", "password": "x", "remember": True}, 400), ([1, 2], 400), ("text", 400),
        ({"email": ["a@b.example"], "password": {"x": 1}}, 400),
    ],
)  # fmt: skip
def test_what_is_no_log_in_is_said(body: Any, status: int) -> None:
    answer = Browser().send("post", "session", body)
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"


def test_a_giant_body_is_not_read_to_its_end() -> None:
    answer = Browser().send("post", "session", {"email": "a@b.example", "password": "x" * (5 * 2**20)})
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"])
def test_a_form_of_another_site_logs_nobody_in(ada: Person, kind: str) -> None:
    body = f"email={ada.user.email}&password={PASSWORD}"
    answer = Browser().http.generic("POST", "/api/v1/session", body, content_type=kind)
    assert answer.status_code == 415
