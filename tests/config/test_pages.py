"""The pages around the API."""

from __future__ import annotations

import json
import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from config import urls
from config.settings import _env

pytestmark = pytest.mark.django_db


def test_the_front_page_leads_to_what_exists(client: Client) -> None:
    page = client.get("/api").content.decode()
    links = re.findall(r'href="([^"]+)"', page)
    assert links
    assert {link: client.get(link).status_code for link in links} == dict.fromkeys(links, 200)


@pytest.mark.parametrize("address", ["/api/docs", "/api/reference"])
def test_the_documentation_needs_no_other_site(client: Client, address: str) -> None:
    page = client.get(address).content.decode()
    sources = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert [source for source in sources if "//" in source] == []
    assert all(finders.find(source.removeprefix("/static/")) for source in sources if source.startswith("/static/"))


def test_the_schema_is_openapi_3_1_and_names_the_token(client: Client) -> None:
    schema = json.loads(client.get("/api/schema?format=json").content)
    assert schema["openapi"].startswith("3.1")
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert "default" in schema["paths"]["/api/v1/projects"]["post"]["responses"]


def test_every_code_has_its_place_on_the_list(client: Client) -> None:
    page = client.get("/api/errors").content.decode()
    for code in ("invalid_input", "idempotency_in_flight", "not_authenticated", "slug_taken"):
        assert f'id="{code}"' in page


def test_health(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.post("/healthz").status_code == 405


def test_an_unknown_address_is_a_problem_document(client: Client) -> None:
    answer = client.get("/api/v1/nothing")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_every_address_under_v1_is_a_door_of_a_room() -> None:
    routes = {str(pattern.pattern) for pattern in urls.urlpatterns}
    assert routes >= {"", "healthz", "api/v1/", urls.CONSOLE}


def test_a_database_address_with_everything() -> None:
    made = _env.database("postgresql://us%40er:p%2Fw@db.example:6543/na%20me?sslmode=require", options={"x": 1})
    assert (made["USER"], made["PASSWORD"], made["NAME"]) == ("us@er", "p/w", "na me")
    assert (made["HOST"], made["PORT"]) == ("db.example", "6543")
    assert made["OPTIONS"] == {"sslmode": "require", "x": 1}


def test_another_database_is_refused() -> None:
    with pytest.raises(Exception, match="PostgreSQL"):
        _env.database("sqlite:///x.db", options={})


@pytest.mark.parametrize("address", ["/", "/api", "/healthz", "/api/errors"])
def test_a_page_is_only_read(client: Client, address: str) -> None:
    answer = client.put(address)
    assert (answer.status_code, answer.json()["code"], answer["Allow"]) == (405, "method_not_allowed", "GET, HEAD")
