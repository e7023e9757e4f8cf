"""Tests: real PostgreSQL and Valkey. tests/conftest.py starts them and fills the addresses in."""

from __future__ import annotations

import secrets

from config.settings import _env
from config.settings.base import *  # noqa: F403 - Django's settings modules are layered this way
from config.settings.base import databases

SECRET_KEY = secrets.token_urlsafe(48)
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
# No server answers here: a test that forgot to ask for the database fails at once.
_NOWHERE = "postgresql://nobody@127.0.0.1:1/nowhere"
DATABASES = databases(_env.text("DATABASE_URL", _NOWHERE), "", pooled=False)
PASSWORD_HASHERS = ["tests.hashers.QuickArgon2"]
WHITENOISE_USE_FINDERS = False
WHITENOISE_AUTOREFRESH = True
