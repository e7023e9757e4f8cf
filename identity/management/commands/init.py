"""`manage.py init`: from an empty database to one that the application can run on. Safe to repeat."""

from __future__ import annotations

import os
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from identity.services import operators, tokens
from plumbing import keyfile, roles
from plumbing.rowsec import system_scope

OWNER = "owner"


class Command(BaseCommand):
    help = "Migrate as the owner, grant to the application's role, make the server key and the first operator."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        if OWNER not in settings.DATABASES:
            raise CommandError("Set DATABASE_OWNER_URL: migrations run as the owner's role.")
        with roles.alone(owner=OWNER):
            call_command("migrate", database=OWNER, interactive=False, verbosity=options["verbosity"])
            roles.grant_to_application(owner=OWNER, role=settings.DATABASES["default"]["USER"])
            self._check_role()
            if keyfile.provide_server_key(settings.VXPU_SERVER_KEY_FILE):
                self.stdout.write(f"Made the server key {settings.VXPU_SERVER_KEY_FILE}")
            with system_scope():
                self._provide_operator(settings.VXPU_VAR / "operator.token", now=timezone.now())

    def _check_role(self) -> None:
        try:
            roles.check_application()
        except roles.RoleUnfit as error:
            raise CommandError(f"DATABASE_URL: {error}") from error

    def _provide_operator(self, token_file: Path, *, now: datetime) -> None:
        given = os.environ.get("VXPU_ADMIN_PASSWORD", "")
        password = given or secrets.token_urlsafe(18)
        email = os.environ.get("VXPU_ADMIN_EMAIL", "operator@vxpu.internal")
        provided = operators.provide(tenant_id=settings.VXPU_OPERATOR_TENANT, email=email, password=password, now=now)
        if provided.is_new and not given:
            login_file = token_file.with_name("operator.login")
            keyfile.write_secret(login_file, f"{email}\n{password}\n".encode())
            self.stdout.write(f"Wrote the operator's e-mail address and first password to {login_file}")
        held = token_file.read_text().strip() if token_file.exists() else ""
        if tokens.authenticate(secret=held, now=now) is None:
            secret = operators.issue_token(user=provided.user, name=f"init {now:%Y-%m-%d %H:%M}", now=now)
            keyfile.write_secret(token_file, f"{secret}\n".encode())
            self.stdout.write(f"Wrote the operator's token to {token_file}")
