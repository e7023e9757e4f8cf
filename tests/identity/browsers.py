"""A browser as far as a log-in knows one: it keeps cookies, and its pages send the CSRF cookie's value back."""

from __future__ import annotations

from typing import Any

from rest_framework.test import APIClient

from plumbing.rowsec import system_scope
from tests.identity.factories import Person, make_tenant

PASSWORD = "correct horse battery staple"


class Browser:
    """`at` is the address it comes from; each browser of a test has its own, as attempts are counted by address."""

    _last = 0

    def __init__(self, *, at: str = "", secure: bool = False) -> None:
        Browser._last += 1
        self.at = at or f"10.9.{Browser._last // 250}.{Browser._last % 250 + 1}"
        self.http = APIClient(enforce_csrf_checks=True, raise_request_exception=False)
        self.secure = secure

    def cookie(self, name: str) -> str:
        held = self.http.cookies.get(name)
        return held.value if held is not None else ""

    def send(self, method: str, address: str, body: Any = None, **headers: str) -> Any:
        """With the CSRF header, as our pages send it; `headers` replace it and add others."""
        own = {"X-CSRF-Token": self.cookie("vxpu_csrf")} if self.cookie("vxpu_csrf") else {}
        return getattr(self.http, method)(
            f"/api/v1/{address}", body, format="json", headers={**own, **headers}, REMOTE_ADDR=self.at,
            secure=self.secure,
        )  # fmt: skip

    def get(self, address: str, **headers: str) -> Any:
        return self.http.get(f"/api/v1/{address}", headers=headers, REMOTE_ADDR=self.at, secure=self.secure)

    def log_in(self, **body: Any) -> Any:
        return self.send("post", "session", body)


def make_login(*, password: str = PASSWORD) -> Person:
    """A tenant's admin who has a password."""
    person = make_tenant()
    with system_scope():
        person.user.set_password(password)
        person.user.save(update_fields=["password"])
    return person
