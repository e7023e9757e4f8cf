"""Log-ins of browsers: what opens a session, what it may do, and what ends it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from identity.facade import principal_of_credential, principals_of_credentials
from identity.models import Session, Token
from identity.services import sessions
from plumbing.rowsec import system_scope
from tests.identity.browsers import PASSWORD, Browser, make_login
from tests.identity.factories import Person, make_member, make_operator, make_project, make_tenant
from vxpu.ids import decode, encode

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]


@pytest.fixture
def ada() -> Person:
    """A tenant's admin with a password."""
    return make_login()


def logged_in(person: Person, **over: Any) -> Browser:
    browser = Browser(**over)
    opened = browser.log_in(email=person.user.email, password=PASSWORD)
    assert opened.status_code == 201, opened.content
    return browser


def actions(person: Person) -> list[str]:
    return [event["action"] for event in person.client.get("/api/v1/audit-events").json()["items"]]


def test_log_in_look_around_log_out(ada: Person) -> None:
    browser = Browser()
    opened = browser.log_in(email=ada.user.email, password=PASSWORD)
    assert (opened.status_code, opened.json()["user"]["email"]) == (201, ada.user.email)
    me = browser.get("me").json()
    assert (me["email"], me["session"] is not None, me["token"]) == (ada.user.email, True, None)
    assert browser.get("session").json() == opened.json()
    assert browser.send("post", "projects", {"name": "P", "slug": "p"}).status_code == 201
    assert browser.send("delete", "session").status_code == 204
    assert (browser.get("me").status_code, browser.get("session").status_code) == (401, 401)
    assert actions(ada)[:3] == ["session.ended", "project.created", "session.opened"]


def test_the_cookies_say_who_may_read_and_send_them(ada: Person) -> None:
    for secure in (False, True):
        cookies = logged_in(ada, secure=secure).http.cookies
        session, csrf = cookies["vxpu_session"], cookies["vxpu_csrf"]
        assert (session["httponly"], session["samesite"], session["path"]) == (True, "Lax", "/")
        assert (csrf["httponly"], csrf["samesite"], csrf["path"]) == ("", "Lax", "/")
        assert (bool(session["secure"]), bool(csrf["secure"])) == (secure, secure)
        assert session["max-age"] == 12 * 3600
        assert (session["domain"], csrf["domain"]) == ("", "")


def test_the_secret_is_not_in_the_database(ada: Person) -> None:
    secret = logged_in(ada).cookie("vxpu_session")
    assert secret.startswith("vxs_")
    with system_scope(), connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(s::text, ' ') FROM identity_session s")
        stored = cursor.fetchone()[0]
        cursor.execute("SELECT string_agg(a::text, ' ') FROM identity_auditevent a")
        told = cursor.fetchone()[0]
    assert secret[8:] not in stored + told
    assert sessions.digest_of(secret).hex() in stored


def test_a_secret_that_someone_planted_is_not_taken_over(ada: Person) -> None:
    browser = Browser()
    browser.http.cookies["vxpu_session"] = "vxs_planted-by-someone-else"
    browser.http.cookies["vxpu_csrf"] = "a" * 32
    assert browser.log_in(email=ada.user.email, password=PASSWORD).status_code == 201
    assert "planted" not in browser.cookie("vxpu_session")
    assert browser.cookie("vxpu_csrf") != "a" * 32
    assert Browser().get("me", cookie="vxpu_session=vxs_planted-by-someone-else").status_code == 401


def test_a_new_log_in_ends_the_one_that_the_browser_had(ada: Person) -> None:
    browser, bo = logged_in(ada), make_login()
    before, stale_csrf = browser.cookie("vxpu_session"), browser.cookie("vxpu_csrf")
    assert browser.log_in(email=bo.user.email, password=PASSWORD).status_code == 201
    assert browser.get("me").json()["email"] == bo.user.email
    left = Browser()
    left.http.cookies["vxpu_session"] = before
    assert left.get("me").status_code == 401
    # A tab of the first log-in that kept its token does nothing in the name of the second.
    stale = browser.send("post", "projects", {"name": "P", "slug": "p"}, **{"X-CSRF-Token": stale_csrf})
    assert (stale.status_code, stale.json()["code"]) == (403, "csrf_failed")


@pytest.mark.parametrize("token", ["", "wrong", "b" * 32])
def test_a_change_needs_the_csrf_token(ada: Person, token: str) -> None:
    browser = logged_in(ada)
    headers = {"X-CSRF-Token": token}
    for method, address in (("post", "projects"), ("delete", "session"), ("post", "me/password")):
        refused = browser.send(method, address, {"name": "P", "slug": "p"}, **headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "csrf_failed"), (method, address)
    assert browser.get("me").status_code == 200
    with system_scope():
        assert Session.objects.get(user=ada.user).revoked_at is None


def test_a_page_of_another_site_changes_nothing(ada: Person) -> None:
    browser = logged_in(ada)
    asked = {"name": "P", "slug": "p"}
    assert browser.send("post", "projects", asked, Origin="https://evil.example").status_code == 403
    assert browser.send("post", "projects", asked, Origin="null").status_code == 403
    assert browser.send("post", "projects", asked, Origin="http://testserver").status_code == 201


def test_over_https_the_page_must_say_where_it_comes_from(ada: Person) -> None:
    browser = logged_in(ada, secure=True)
    asked = {"name": "P", "slug": "p"}
    assert browser.send("post", "projects", asked).status_code == 403
    assert browser.send("post", "projects", asked, Referer="https://evil.example/x").status_code == 403
    assert browser.send("post", "projects", asked, Origin="https://testserver").status_code == 201


def test_a_bearer_wins_over_the_cookie_and_needs_no_csrf(ada: Person) -> None:
    browser, bo = logged_in(ada), make_tenant()
    bearer = {"Authorization": f"Bearer {bo.secret}", "X-CSRF-Token": "wrong"}
    assert browser.get("me", **bearer).json()["email"] == bo.user.email
    made = browser.send("post", "projects", {"name": "P", "slug": "p"}, **bearer)
    assert made.status_code == 201
    assert [item["slug"] for item in bo.client.get("/api/v1/projects").json()["items"]] == ["p"]
    # A bad bearer is not covered up by a good cookie.
    assert browser.get("me", Authorization="Bearer vxp_pat_unknown").status_code == 401


def test_the_csrf_cookie_comes_back_when_it_was_lost(ada: Person) -> None:
    browser = logged_in(ada)
    del browser.http.cookies["vxpu_csrf"]
    assert browser.send("post", "projects", {"name": "P", "slug": "p"}).status_code == 403
    assert browser.get("session").status_code == 200
    assert browser.send("post", "projects", {"name": "P", "slug": "p"}).status_code == 201


def test_a_log_in_with_a_token_is_no_wider_and_dies_with_it(ada: Person) -> None:
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    body = {"name": "t", "scopes": ["lease:read"], "expires_at": until}
    made = ada.client.post("/api/v1/tokens", body, format="json").json()
    browser = Browser()
    opened = browser.log_in(token=made["secret"])
    assert (opened.status_code, opened.json()["expires_at"]) == (201, made["token"]["expires_at"])
    assert browser.get("me").json()["scopes"] == ["lease:read"]
    assert browser.send("post", "projects", {"name": "P", "slug": "p"}).status_code == 403
    assert ada.client.delete(f"/api/v1/tokens/{made['token']['id']}").status_code == 204
    assert browser.get("me").status_code == 401


def test_a_dead_session_is_out_at_once(ada: Person) -> None:
    browser = logged_in(ada)
    with system_scope():
        Session.objects.filter(user=ada.user).update(
            created_at=datetime.now(UTC) - timedelta(hours=13), expires_at=datetime.now(UTC) - timedelta(seconds=1)
        )
    assert browser.get("me").status_code == 401
    assert browser.send("delete", "session").status_code == 204
    assert browser.log_in(email=ada.user.email, password=PASSWORD).status_code == 201
    with system_scope():
        ada.user.is_active = False
        ada.user.save(update_fields=["is_active"])
    assert browser.get("me").status_code == 401
    assert browser.log_in(email=ada.user.email, password=PASSWORD).json()["code"] == "wrong_login"


def test_roles_count_as_they_are_now(ada: Person) -> None:
    bo = make_member(by=ada, project=make_project(by=ada))
    browser = Browser()
    assert browser.log_in(token=bo.secret).status_code == 201
    assert "lease:write" in browser.get("me").json()["scopes"]
    with system_scope():
        bo.user.memberships.all().delete()
    assert browser.get("me").json()["scopes"] == []


def test_sessions_are_listed_and_ended_by_their_owner_only(ada: Person) -> None:
    laptop, phone, mallory = logged_in(ada), logged_in(ada), logged_in(make_login())
    rows = laptop.get("me/sessions", **{"User-Agent": "Firefox"}).json()["items"]
    assert sorted(row["is_current"] for row in rows) == [False, True]
    assert {row["address"] for row in rows} == {laptop.at, phone.at}
    other = next(row["id"] for row in rows if not row["is_current"])
    assert mallory.send("delete", f"me/sessions/{other}").status_code == 404
    assert [laptop.send("delete", f"me/sessions/{other}").status_code for _ in range(2)] == [204, 204]
    assert (phone.get("me").status_code, laptop.get("me").status_code) == (401, 200)
    assert len(ada.client.get("/api/v1/me/sessions").json()["items"]) == 1


def test_a_session_is_one_query_and_an_operator_sees_all(ada: Person) -> None:
    logged_in(ada)
    operator = make_operator()
    browser = Browser()
    assert browser.log_in(token=operator.secret).status_code == 201
    assert browser.get("me").json()["is_operator"] is True
    assert len(browser.get("tenants").json()["items"]) == 2
    with system_scope(), CaptureQueriesContext(connection) as queries:
        assert sessions.authenticate(secret=browser.cookie("vxpu_session"), now=datetime.now(UTC)) is not None
    assert len(queries) == 1


def test_old_rows_go_with_the_next_log_in(ada: Person) -> None:
    logged_in(ada)
    long_ago = datetime.now(UTC) - timedelta(days=40)
    with system_scope():
        Session.objects.update(created_at=long_ago, expires_at=long_ago + timedelta(hours=12))
    logged_in(ada)
    with system_scope():
        assert Session.objects.count() == 1


def test_a_connection_asks_again_who_holds_what(ada: Person) -> None:
    now = datetime.now(UTC)
    session = decode("ses", logged_in(ada).get("me").json()["session"])
    with system_scope():
        token = Token.objects.get(user=ada.user).pk
    asked: Any = [("session", session), ("token", token), ("token", session)]
    found = principals_of_credentials(credentials=asked, now=now)
    assert {key: who.user_id for key, who in found.items()} == dict.fromkeys(asked[:2], ada.user.pk)
    assert (found[asked[0]].session_id, found[asked[1]].token_id) == (session, token)
    assert principal_of_credential(kind="session", credential_id=session, now=now + timedelta(hours=13)) is None
    assert ada.client.delete(f"/api/v1/me/sessions/{encode('ses', session)}").status_code == 204
    assert principal_of_credential(kind="session", credential_id=session, now=now) is None
    assert principals_of_credentials(credentials=[], now=now) == {}


@pytest.mark.parametrize("address", ["10.1.2.3, 203.0.113.9", "203.0.113.9"])
def test_the_address_is_the_one_that_our_own_proxy_saw(ada: Person, settings: Any, address: str) -> None:
    settings.VXPU_PROXIES = 1
    browser = Browser()
    browser.send("post", "session", {"token": ada.secret}, **{"X-Forwarded-For": address})
    assert browser.get("me/sessions").json()["items"][0]["address"] == "203.0.113.9"
