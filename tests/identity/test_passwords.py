"""Passwords: whose they are, how strong, and what a change ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from identity.models import User
from identity.services import passwords
from plumbing.rowsec import system_scope
from tests.identity.browsers import PASSWORD, Browser, make_login
from tests.identity.factories import Person, client_for, make_tenant
from tests.racing import race

pytestmark = [pytest.mark.usefixtures("valkey")]
NEW = "another long secret"


@pytest.fixture
def ada(db: None) -> Person:
    """A tenant's admin with a password."""
    return make_login()


def set_password(person: Person, **body: Any) -> Any:
    return person.client.post("/api/v1/me/password", body, format="json")


def test_a_change_ends_the_other_sessions_and_leaves_tokens(ada: Person) -> None:
    here, there = Browser(), Browser()
    for browser in (here, there):
        browser.log_in(email=ada.user.email, password=PASSWORD)
    changed = here.send("post", "me/password", {"current": PASSWORD, "new": NEW})
    assert changed.status_code == 204, changed.content
    assert (here.get("me").status_code, there.get("me").status_code) == (200, 401)
    assert ada.client.get("/api/v1/me").status_code == 200
    assert Browser().log_in(email=ada.user.email, password=PASSWORD).status_code == 401
    assert Browser().log_in(email=ada.user.email, password=NEW).status_code == 201
    event = ada.client.get("/api/v1/audit-events").json()["items"][2]
    assert (event["action"], event["details"]) == ("password.changed", {"sessions_ended": 1})


@pytest.mark.django_db
def test_the_first_password_is_set_with_a_token() -> None:
    ada = make_tenant()
    assert ada.client.get("/api/v1/me").json()["has_password"] is False
    assert set_password(ada, new=NEW).status_code == 204
    assert ada.client.get("/api/v1/me").json()["has_password"] is True
    assert Browser().log_in(email=ada.user.email, password=NEW).status_code == 201
    assert set_password(ada, new="yet another secret").json()["code"] == "wrong_password"


@pytest.mark.django_db
def test_a_narrow_token_does_not_widen_itself_by_a_password() -> None:
    ada = make_tenant()
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    body = {"name": "ci", "scopes": ["lease:write"], "expires_at": until}
    narrow = ada.client.post("/api/v1/tokens", body, format="json").json()["secret"]
    refused = client_for(narrow).post("/api/v1/me/password", {"new": NEW}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_too_wide")
    browser = Browser()
    browser.log_in(token=narrow)
    assert browser.send("post", "me/password", {"new": NEW}).status_code == 403


@pytest.mark.parametrize(
    "weak", ["short", "password1234", "123456789012", "", "ada admin ada", "x" * 1025, "a\x00bcdefghijklmn"]
)
def test_a_weak_password_is_refused(ada: Person, weak: str) -> None:
    answer = set_password(ada, current=PASSWORD, new=weak)
    assert answer.status_code in {400, 422}, answer.content
    assert answer.json()["code"] in {"weak_password", "invalid_input"}
    assert Browser().log_in(email=ada.user.email, password=PASSWORD).status_code == 201


@pytest.mark.parametrize(
    ("typed", "again"),
    [
        ("crème brûlée für zwölf", "cre\u0300me bru\u0302le\u0301e fu\u0308r zwo\u0308lf"),
        ("正确的马电池订书钉密码啊啊啊", "正确的马电池订书钉密码啊啊啊"),
        ("🐎🔋📎✅ four emoji 👩‍💻", "🐎🔋📎✅ four emoji 👩‍💻"),
        ("  spaces at the ends  ", "  spaces at the ends  "),
    ],
)
def test_any_script_makes_a_password(ada: Person, typed: str, again: str) -> None:
    assert set_password(ada, current=PASSWORD, new=typed).status_code == 204
    assert Browser().log_in(email=ada.user.email, password=again).status_code == 201
    assert Browser().log_in(email=ada.user.email, password=again.strip() + "x").status_code == 401


def test_guessing_the_present_one_is_counted(ada: Person) -> None:
    codes = [set_password(ada, current="guess", new=NEW).json()["code"] for _ in range(11)]
    assert codes == ["wrong_password"] * 10 + ["too_many_attempts"]


def test_of_two_changes_at_once_one_wins(committed_system: str) -> None:
    ada = make_login()
    by, now = ada.principal(), datetime.now(UTC)
    outcomes = race(*[
        lambda word=word: passwords.change(by=by, current=PASSWORD, new=word, now=now)
        for word in ("first long secret", "second long secret")
    ])  # fmt: skip
    # Either both saw the old one and one lost, or the second came after the first and its `current` was wrong.
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType", "WrongPassword"]


def test_a_log_in_that_saw_the_old_password_opens_nothing_after_the_change(committed_system: str) -> None:
    from identity.errors import WrongLogin
    from identity.services import sessions

    ada = make_login()
    seen = User.objects.get(pk=ada.user.pk)
    passwords.change(by=ada.principal(), current=PASSWORD, new=NEW, now=datetime.now(UTC))
    with system_scope(), pytest.raises(WrongLogin):
        sessions._open(
            user=seen, token_id=None, until=None, browser=sessions.Browser(None), replaces="", now=datetime.now(UTC)
        )
