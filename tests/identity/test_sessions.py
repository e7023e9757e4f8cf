"""Log-ins of browsers: what opens a session, what it may do, and what ends it."""

from __future__ import annotations

import pytest

from tests.identity.browsers import PASSWORD, Browser, make_login

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey")]


def test_log_in_look_around_log_out() -> None:
    ada, browser = make_login(), Browser()
    opened = browser.log_in(email=ada.user.email, password=PASSWORD)
    assert opened.status_code == 201, opened.content
    assert opened.json()["user"]["email"] == ada.user.email
    me = browser.get("me").json()
    assert (me["email"], me["session"] is not None, me["token"]) == (ada.user.email, True, None)
    assert browser.get("session").status_code == 200
    assert browser.send("post", "projects", {"name": "P", "slug": "p"}).status_code == 201
    assert browser.send("delete", "session").status_code == 204
    assert (browser.get("me").status_code, browser.get("session").status_code) == (401, 401)
