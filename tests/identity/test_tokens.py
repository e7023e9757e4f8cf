"""Tokens: hashed at rest, narrow, mortal, revocable."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from identity.models import Token
from identity.services import tokens
from plumbing.rowsec import system_scope
from tests.identity.factories import Person, client_for, make_member, make_operator, make_project, make_tenant
from vxpu.ids import encode

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)


@pytest.fixture
def ada() -> Person:
    """The admin of a tenant."""
    return make_tenant()


@pytest.fixture
def bo(ada: Person) -> Person:
    """A member of one of ada's projects."""
    return make_member(by=ada, project=make_project(by=ada))


def ask_token(person: Person, **over: Any) -> Any:
    body = {
        "name": "ci", "scopes": ["lease:read"], "expires_at": (NOW + timedelta(days=30)).isoformat(), **over
    }  # fmt: skip
    return person.client.post("/api/v1/tokens", body, format="json")


def test_a_new_token_works_and_is_shown_once(ada: Person) -> None:
    made = ask_token(ada)
    assert made.status_code == 201
    secret = made.json()["secret"]
    assert secret.startswith("vxp_pat_")
    assert client_for(secret).get("/api/v1/me").json()["scopes"] == ["lease:read"]
    assert secret not in ada.client.get("/api/v1/tokens").content.decode()


def test_the_secret_is_not_in_the_database(ada: Person) -> None:
    secret = ask_token(ada).json()["secret"]
    with system_scope(), connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(t::text, ' ') FROM identity_token t")
        stored = cursor.fetchone()[0]
        cursor.execute("SELECT string_agg(a::text, ' ') FROM identity_auditevent a")
        told = cursor.fetchone()[0]
    assert secret[len(tokens.PREFIX) + 6 :] not in stored + told
    assert tokens.digest_of(secret).hex() in stored


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer nonsense",
        "Bearer vxp_pat_unknown",
        "Basic dXNlcjpwdw==",
        "Bearer vxp_pat_\x00",
        "Bearer é",
    ],
)
def test_a_bad_token_is_401(header: str) -> None:
    answer = client_for("x").get("/api/v1/me", headers={"Authorization": header})
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_token_stops_at_once(ada: Person) -> None:
    made = ask_token(ada).json()
    address = f"/api/v1/tokens/{made['token']['id']}"
    assert [ada.client.delete(address).status_code for _ in range(2)] == [204, 204]
    assert client_for(made["secret"]).get("/api/v1/me").status_code == 401


def test_an_expired_token_is_unknown(ada: Person) -> None:
    with system_scope():
        assert tokens.authenticate(secret=ada.secret, now=NOW + timedelta(days=89)) is not None
        assert tokens.authenticate(secret=ada.secret, now=NOW + timedelta(days=91)) is None


def test_an_inactive_user_is_out(ada: Person) -> None:
    with system_scope():
        ada.user.is_active = False
        ada.user.save(update_fields=["is_active"])
    assert ada.client.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize("days", [-1, 0, 367])
def test_a_token_lives_at_most_a_year(ada: Person, days: int) -> None:
    answer = ask_token(ada, expires_at=(NOW + timedelta(days=days)).isoformat())
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_expiry")


def test_a_token_makes_no_wider_one(ada: Person, bo: Person) -> None:
    answer = ask_token(bo, scopes=["lease:write", "identity:write"])
    assert (answer.status_code, answer.json()["code"]) == (403, "scope_too_wide")
    assert "identity:write" in answer.json()["detail"]


def test_a_role_that_is_lost_takes_its_scopes_along(ada: Person, bo: Person) -> None:
    with system_scope():
        bo.user.memberships.all().delete()
    assert bo.client.get("/api/v1/me").json()["scopes"] == []


def test_a_member_makes_no_token_for_another(ada: Person, bo: Person) -> None:
    answer = ask_token(bo, user=encode("usr", ada.user.pk))
    assert answer.status_code == 403


def test_an_admin_makes_a_token_for_a_member(ada: Person, bo: Person) -> None:
    made = ask_token(ada, user=encode("usr", bo.user.pk))
    assert client_for(made.json()["secret"]).get("/api/v1/me").json()["user"] == encode("usr", bo.user.pk)


def test_a_member_sees_only_its_own_tokens(ada: Person, bo: Person) -> None:
    ask_token(ada)
    seen = {item["user"] for item in bo.client.get("/api/v1/tokens").json()["items"]}
    assert seen == {encode("usr", bo.user.pk)}


def test_last_use_is_noted_once_a_minute(ada: Person) -> None:
    uses = [NOW, NOW + timedelta(seconds=30), NOW + timedelta(seconds=61)]
    noted = []
    with system_scope():
        for use in uses:
            tokens.authenticate(secret=ada.secret, now=use)
            noted.append(Token.objects.get(user=ada.user).last_used_at)
    assert noted == [NOW, NOW, NOW + timedelta(seconds=61)]


def test_a_look_up_is_one_indexed_query(ada: Person) -> None:
    with system_scope():
        tokens.authenticate(secret=ada.secret, now=NOW)
        with CaptureQueriesContext(connection) as queries:
            tokens.authenticate(secret=ada.secret, now=NOW)
        assert len(queries) == 1
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
            cursor.execute(f"EXPLAIN {queries[0]['sql']}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "digest" in plan.split("Index Scan using identity_token_digest")[1][:200]


def test_an_operator_has_every_scope() -> None:
    me = make_operator().client.get("/api/v1/me").json()
    assert me["is_operator"] is True
    assert {"node:write", "price:write"} <= set(me["scopes"])
