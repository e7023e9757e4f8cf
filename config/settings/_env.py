"""Settings come from the environment; a missing one that has no safe default stops the start with its name."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str | None = None) -> str:
    """The variable, or `default`; raises ImproperlyConfigured if there is neither."""
    value = os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(f"Set {name} in the environment.")
    return value


def integer(name: str, default: int) -> int:
    """An integer variable; raises ImproperlyConfigured for anything else."""
    value = os.environ.get(name, "")
    if not value:
        return default
    try:
        return int(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from error


def flag(name: str, *, default: bool) -> bool:
    """``1/true/yes/on`` and ``0/false/no/off``; raises ImproperlyConfigured for anything else."""
    value = os.environ.get(name, "").lower()
    if not value:
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}.")


def words(name: str, default: str) -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def database(url: str, *, options: dict[str, Any]) -> dict[str, Any]:
    """Django's settings for ``postgresql://user:password@host:port/name?option=value``."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured("The database is PostgreSQL: write postgresql://user:password@host:port/name.")
    query = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": str(query.pop("port", "") or parts.port or ""),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**query, **options},
    }
