"""What a stranger may send: a problem document for each, never a fault of ours."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from plumbing.models import OutboxEvent
from plumbing.rowsec import system_scope

pytestmark = [pytest.mark.urls("tests.plumbing.doors"), pytest.mark.django_db]
NO_ROW = "2ea49cff-6be5-4ab5-b3f9-05d7e1774263"
DEEP = "[" * 40 + "]" * 40


def ask(method: str, address: str, body: str = "", kind: str = "application/json", **headers: Any) -> Any:
    client = APIClient(raise_request_exception=False)
    return client.generic(method, address, body, content_type=kind, headers={"Idempotency-Key": "k"}, **headers)


@pytest.mark.parametrize(
    "value", ['"\\ud800"', "1e309", "NaN", "-Infinity", "1" * 5000, DEEP, "[" * 100_000, "{" * 3, '{"a":' * 9_000]
)
def test_a_value_that_is_none(value: str) -> None:
    answer = ask("POST", "/ring", f'{{"word": {value}}}')
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_request")
    with system_scope():
        assert not OutboxEvent.objects.exists()


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert ask("POST", "/ring", '{"word": "\\ud83d\\ude00"}').status_code == 201


def test_a_body_that_is_too_large() -> None:
    answer = ask("POST", "/ring", '{"word": "%s"}' % ("a" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE))
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_a_host_that_is_not_ours() -> None:
    answer = ask("GET", "/ring", HTTP_HOST="a b/\\c")
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_request")


@pytest.mark.parametrize("value", [None, "a\0b", "\ud800", float("inf"), [], {}, True])
def test_a_cursor_with_a_value_that_no_column_has(value: Any) -> None:
    text = base64.urlsafe_b64encode(json.dumps(["kind", value, NO_ROW]).encode()).decode()
    assert ask("GET", f"/ring?sort=kind&cursor={text}").json()["code"] == "invalid_input"


@pytest.mark.parametrize("limit", ["0", "201", "000200999", "0" * 9 + "1", "1e3", "-1", "\u0663", "1" * 40])
def test_a_limit_beyond_the_limit(limit: str) -> None:
    assert ask("GET", f"/ring?limit={limit}").json()["code"] == "invalid_input"
