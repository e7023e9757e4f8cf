"""Every error is a problem document with a code, a way on and the request's id."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from plumbing.api import errors
from plumbing.errors import Conflict

pytestmark = [pytest.mark.urls("tests.plumbing.doors"), pytest.mark.django_db]
MEMBERS = {"type", "title", "status", "detail", "code", "suggestion", "request_id"}


def ask(method: str, address: str, *, body: str = '{"word": "ding"}', **headers: str) -> Any:
    client = APIClient(raise_request_exception=False)
    given = {"Idempotency-Key": "k", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return client.generic(
        method, address, body, content_type=given.pop("Content-Type", "application/json"), headers=given
    )


@pytest.mark.parametrize(
    ("request_of", "status", "code"),
    [
        (("GET", "/nowhere"), 404, "not_found"),
        (("PUT", "/ring"), 405, "method_not_allowed"),
        (("OPTIONS", "/ring"), 405, "method_not_allowed"),
        (("GET", "/operator"), 403, "forbidden"),
    ],
)
def test_addresses_and_methods(request_of: tuple[str, str], status: int, code: str) -> None:
    answer = ask(*request_of)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert set(answer.json()) >= MEMBERS
    assert answer.json()["type"] == f"/api/errors#{code}"


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ("{}", ["/word"]),
        ('{"word": "x", "count": "many"}', ["/count"]),
        ('{"word": "much too long for a bell", "count": 0}', ["/word", "/count"]),
        ("[1]", [""]),
        ("null", [""]),
    ],
)
def test_bad_fields_are_pointed_at(body: str, pointers: list[str]) -> None:
    answer = ask("POST", "/ring", body=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert [error["pointer"] for error in answer.json()["errors"]] == pointers


@pytest.mark.parametrize("body", ["{", "\xff", '{"word": }'])
def test_a_body_that_is_no_json(body: str) -> None:
    answer = ask("POST", "/ring", body=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_request")


def test_another_content_type() -> None:
    answer = ask("POST", "/ring", Content_Type="text/plain")
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_an_error_of_the_domain_brings_its_data() -> None:
    answer = ask("POST", "/ring", body='{"word": "ding", "fault": "conflict"}')
    document = answer.json()
    assert answer.status_code == 409
    assert (document["code"], document["detail"]) == ("conflict", "The bell is taken.")
    assert (document["suggestion"], document["bells"]) == ("Ring later.", ["00000000-0000-0000-0000-000000000001"])


def test_a_fault_of_ours_tells_nothing_but_the_id() -> None:
    answer = ask("POST", "/ring", body='{"word": "ding", "fault": "bug"}', X_Request_Id="my-request-1")
    assert answer.status_code == 500
    assert (answer.json()["code"], answer.json()["request_id"]) == ("unexpected", "my-request-1")
    assert "ZeroDivision" not in answer.content.decode()


def test_a_wild_request_id_is_replaced() -> None:
    answer = ask("GET", "/nowhere", X_Request_Id="<script>alert(1)</script>")
    assert answer.headers["X-Request-Id"].startswith("req_")
    assert answer.json()["request_id"] == answer.headers["X-Request-Id"]


@pytest.mark.parametrize(
    ("who", "method", "status"),
    [("ring:read", "GET", 200), ("ring:write", "GET", 200), ("ring:read", "POST", 403), ("bell:write", "GET", 403)],
)
def test_scopes(who: str, method: str, status: int) -> None:
    assert ask(method, "/ring", X_Who=who).status_code == status


def test_operators_pass_their_door() -> None:
    assert ask("GET", "/operator", X_Who="operator").json() == {"name": "operator"}


def test_data_cannot_replace_the_standard_members() -> None:
    made = errors.document(Conflict("Taken.", status=200, code="fine"))
    assert (made["status"], made["code"]) == (409, "conflict")


def test_codes_are_unique_and_told() -> None:
    found = errors.known_errors()
    assert len({error.code for error in found}) == len(found)
    assert all(error.title.endswith(".") for error in found)
