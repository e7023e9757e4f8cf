"""Tenants, projects and members by REST, and the walls between tenants."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from identity.facade import get_project, get_tenant, list_tenants
from plumbing.errors import NotFound
from plumbing.rowsec import system_scope, tenant_scope
from tests.identity.factories import Person, client_for, make_member, make_operator, make_project, make_tenant
from vxpu.ids import encode

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Person:
    """The admin of a tenant."""
    return make_tenant()


@pytest.fixture
def mallory() -> Person:
    """The admin of another tenant."""
    return make_tenant()


def post(person: Person, address: str, **body: Any) -> Any:
    return person.client.post(f"/api/v1/{address}", body, format="json")


def make_request(**over: Any) -> dict[str, Any]:
    return {"name": "Acme", "slug": "acme", "admin_email": "ann@acme.example", "admin_name": "Ann", **over}


def test_an_operator_makes_a_tenant_that_can_begin() -> None:
    made = post(make_operator(), "tenants", **make_request())
    assert made.status_code == 201
    me = client_for(made.json()["token"]["secret"]).get("/api/v1/me").json()
    assert (me["tenant"]["id"], me["roles"]) == (made.json()["tenant"]["id"], ["tenant_admin"])


def test_only_operators_make_or_list_tenants(ada: Person) -> None:
    assert post(ada, "tenants", **make_request()).status_code == 403
    assert ada.client.get("/api/v1/tenants").status_code == 403


@pytest.mark.parametrize(
    ("over", "pointer"),
    [
        ({"slug": "Not A Slug"}, "/slug"),
        ({"slug": "-x"}, "/slug"),
        ({"name": ""}, "/name"),
        ({"admin_email": "nobody"}, "/admin_email"),
        ({"admin_name": None}, "/admin_name"),
        ({"name": "a\x00b"}, "/name"),
    ],
)
def test_bad_tenants_are_pointed_at_and_not_stored(over: dict[str, Any], pointer: str) -> None:
    operator = make_operator()
    answer = post(operator, "tenants", **make_request(**over))
    assert (answer.status_code, [error["pointer"] for error in answer.json()["errors"]]) == (400, [pointer])
    assert [tenant["slug"] for tenant in operator.client.get("/api/v1/tenants").json()["items"]] == ["operator"]


@pytest.mark.parametrize(
    ("over", "code"),
    [
        ({"admin_email": "ANN@acme.example", "slug": "other"}, "email_taken"),
        ({"admin_email": "b@b.example"}, "slug_taken"),
    ],
)
def test_slug_and_address_are_unique(over: dict[str, Any], code: str) -> None:
    operator = make_operator()
    post(operator, "tenants", **make_request())
    answer = post(operator, "tenants", **make_request(**over))
    assert (answer.status_code, answer.json()["code"]) == (409, code)
    assert len(operator.client.get("/api/v1/tenants").json()["items"]) == 2


def test_projects_are_the_tenants_own(ada: Person, mallory: Person) -> None:
    made = post(ada, "projects", name="Vision", slug="vision")
    assert made.status_code == 201
    assert post(mallory, "projects", name="Vision", slug="vision").status_code == 201
    assert [item["id"] for item in ada.client.get("/api/v1/projects").json()["items"]] == [made.json()["id"]]
    assert post(ada, "projects", name="Again", slug="vision").json()["code"] == "slug_taken"


def test_a_member_belongs_to_a_project(ada: Person) -> None:
    project = make_project(by=ada)
    made = post(
        ada, "members", email="bo@bo.example", name="Bo", role="member", project=encode("prj", project.pk)
    )  # fmt: skip
    assert made.status_code == 201
    assert (made.json()["role"], made.json()["project"]) == ("member", encode("prj", project.pk))
    assert len(ada.client.get("/api/v1/members").json()["items"]) == 2


@pytest.mark.parametrize(
    ("role", "with_project", "status", "code"),
    [
        ("member", False, 422, "role_misplaced"),
        ("finance", True, 422, "role_misplaced"),
        ("tenant_admin", True, 422, "role_misplaced"),
        ("emperor", False, 400, "invalid_input"),
    ],
)
def test_roles_have_their_place(ada: Person, role: str, with_project: bool, status: int, code: str) -> None:
    project = encode("prj", make_project(by=ada).pk) if with_project else None
    answer = post(ada, "members", email="x@x.example", name="X", role=role, project=project)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_role_is_given_once(ada: Person) -> None:
    answers = [post(ada, "members", email="f@f.example", name="F", role="finance") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 409]
    assert answers[1].json()["code"] == "already_member"


def test_another_tenants_user_cannot_be_taken_over(ada: Person, mallory: Person) -> None:
    answer = post(mallory, "members", email=ada.user.email, name="Mine", role="finance")
    assert (answer.status_code, answer.json()["code"]) == (409, "email_taken")


def test_another_tenants_ids_are_404(ada: Person, mallory: Person) -> None:
    project = encode("prj", make_project(by=ada).pk)
    token = ada.client.get("/api/v1/tokens").json()["items"][0]["id"]
    user = encode("usr", ada.user.pk)
    answers = [
        post(mallory, "members", email="m@m.example", name="M", role="member", project=project),
        mallory.client.delete(f"/api/v1/tokens/{token}"),
        post(mallory, "tokens", name="t", scopes=["lease:read"], expires_at="2027-01-01T00:00:00Z", user=user),
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(404, "not_found")] * 3
    assert ada.client.get("/api/v1/me").status_code == 200


@pytest.mark.parametrize("token", ["tok_nonsense", "prj_01k2v7x9qefh8r8x5m3n1p0s4t", "1", encode("tok", UUID(int=5))])
def test_an_id_that_is_none_is_404(ada: Person, token: str) -> None:
    assert ada.client.delete(f"/api/v1/tokens/{token}").status_code == 404


def test_members_and_finance_change_no_people(ada: Person) -> None:
    for person in (make_member(by=ada, project=make_project(by=ada)), make_member(by=ada, role="finance")):
        assert person.client.get("/api/v1/members").status_code == 200
        assert post(person, "projects", name="No", slug="no").status_code == 403
        assert person.client.get("/api/v1/audit-events").status_code == 403


def test_the_facade_gives_values_and_keeps_tenants_apart(ada: Person, mallory: Person) -> None:
    project = make_project(by=ada)
    with tenant_scope(ada.tenant_id):
        assert get_project(tenant_id=ada.tenant_id, project_id=project.pk).slug == project.slug
        assert get_tenant(tenant_id=ada.tenant_id).id == ada.tenant_id
        assert [tenant.id for tenant in list_tenants()] == [ada.tenant_id]
    with system_scope(), pytest.raises(NotFound):
        get_project(tenant_id=mallory.tenant_id, project_id=project.pk)


def test_nobody_without_a_token_gets_in() -> None:
    for address in ("me", "tenants", "projects", "members", "tokens", "audit-events"):
        assert client_for("").get(f"/api/v1/{address}").status_code == 401


@pytest.mark.parametrize(
    ("door", "body", "pointer"),
    [
        ("projects", {"name": "n", "slug": "s", "colour": "red"}, "/colour"),
        ("tokens", {"name": "n", "scopes": ["lease:read"], "expires_at": "2026-12-01T14:00"}, "/expires_at"),
    ],
)
def test_what_is_not_known_or_not_clear_is_said(door: str, body: dict[str, Any], pointer: str) -> None:
    answer = make_operator().client.post(f"/api/v1/{door}", body, format="json")
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def roles_of(person: Person) -> dict[str, str]:
    """The tenant's members: e-mail address -> id of the role."""
    return {row["user"]["email"]: row["id"] for row in person.client.get("/api/v1/members").json()["items"]}


def test_a_new_member_gets_a_first_token_and_an_old_one_none(ada: Person) -> None:
    project = encode("prj", make_project(by=ada).pk)
    wanted = {"email": "bo@bo.example", "name": "Bo", "role": "member", "project": project}
    made = post(ada, "members", **wanted).json()
    me = client_for(made["first_token"]["secret"]).get("/api/v1/me").json()
    assert (me["email"], me["roles"], [one["id"] for one in me["projects"]]) == ("bo@bo.example", ["member"], [project])
    again = post(ada, "members", email="BO@bo.example", name="Bo", role="finance").json()
    assert (again["user"]["id"], again["first_token"]) == (made["user"]["id"], None)


def test_a_first_token_is_no_wider_than_its_giver(ada: Person) -> None:
    until = "2027-06-01T00:00:00Z"
    narrow = post(ada, "tokens", name="n", scopes=["identity:write", "lease:read"], expires_at=until).json()["secret"]
    body = {"email": "bo@bo.example", "name": "Bo", "role": "tenant_admin"}
    made = client_for(narrow).post("/api/v1/members", body, format="json").json()
    assert made["first_token"]["token"]["scopes"] == ["identity:write"]


def test_a_role_is_taken_away_but_not_the_last_admins(ada: Person, mallory: Person) -> None:
    bo = make_member(by=ada, role="tenant_admin")
    roles = roles_of(ada)
    assert mallory.client.delete(f"/api/v1/members/{roles[bo.user.email]}").status_code == 404
    assert ada.client.delete(f"/api/v1/members/{roles[bo.user.email]}").status_code == 204
    assert bo.client.get("/api/v1/me").json()["scopes"] == []
    refused = ada.client.delete(f"/api/v1/members/{roles[ada.user.email]}")
    assert (refused.status_code, refused.json()["code"]) == (409, "last_admin")
    assert ada.client.delete(f"/api/v1/members/{roles[bo.user.email]}").status_code == 404
    assert ada.client.get("/api/v1/audit-events").json()["items"][0]["action"] == "member.removed"


def test_an_admin_who_may_not_come_in_does_not_count(ada: Person) -> None:
    bo = make_member(by=ada, role="tenant_admin")
    with system_scope():
        bo.user.is_active = False
        bo.user.save(update_fields=["is_active"])
    assert ada.client.delete(f"/api/v1/members/{roles_of(ada)[ada.user.email]}").json()["code"] == "last_admin"


def test_members_take_no_role_away(ada: Person) -> None:
    bo = make_member(by=ada, project=make_project(by=ada))
    assert bo.client.delete(f"/api/v1/members/{roles_of(ada)[ada.user.email]}").status_code == 403
