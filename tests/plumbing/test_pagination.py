"""Cursor paging: every row once, whatever appears meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework.test import APIClient

from plumbing.models import OutboxEvent
from plumbing.rowsec import tenant_scope
from tests.plumbing.doors import TENANT

pytestmark = [pytest.mark.urls("tests.plumbing.doors"), pytest.mark.django_db]
SAME_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def make_rows(*kinds: str) -> None:
    with tenant_scope(TENANT):
        for kind in kinds:
            OutboxEvent.objects.create(tenant_id=TENANT, kind=kind, payload={}, created_at=SAME_MOMENT)


def page(**query: Any) -> Any:
    return APIClient().get("/ring", query).json()


def kinds(**query: Any) -> list[str]:
    """All pages, joined."""
    found: list[str] = []
    answer = page(**query)
    while True:
        found += [item["kind"] for item in answer["items"]]
        if answer["next"] is None:
            return found
        answer = page(**query, cursor=answer["next"])


def test_newest_first_and_each_once() -> None:
    make_rows("a", "b", "c", "d", "e")
    assert kinds(limit=2) == ["e", "d", "c", "b", "a"]


@pytest.mark.parametrize(("sort", "expected"), [("kind", "aabbc"), ("-kind", "cbbaa"), ("created_at", "bacab")])
def test_sorting(sort: str, expected: str) -> None:
    make_rows("b", "a", "c", "a", "b")
    assert kinds(limit=2, sort=sort) == list(expected)


def test_a_row_that_appears_shifts_nothing() -> None:
    make_rows("a", "b", "c")
    first = page(limit=2)
    make_rows("d")
    assert [item["kind"] for item in page(limit=2, cursor=first["next"])["items"]] == ["a"]


def test_an_exact_page_has_no_next() -> None:
    make_rows("a", "b")
    assert page(limit=2)["next"] is None


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"limit": "0"}, "/limit"),
        ({"limit": "201"}, "/limit"),
        ({"limit": "ten"}, "/limit"),
        ({"limit": "-1"}, "/limit"),
        ({"sort": "payload"}, "/sort"),
        ({"cursor": "!!!"}, "/cursor"),
        ({"cursor": "W10"}, "/cursor"),
        ({"cursor": "eyJhIjoxfQ"}, "/cursor"),
    ],
)
def test_bad_queries_are_pointed_at(query: dict[str, str], pointer: str) -> None:
    answer = APIClient().get("/ring", query)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, pointer)


def test_a_cursor_belongs_to_its_sort() -> None:
    make_rows("a", "b", "c")
    cursor = page(limit=1, sort="kind")["next"]
    assert APIClient().get("/ring", {"cursor": cursor, "sort": "-kind"}).status_code == 400
