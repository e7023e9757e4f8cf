"""Prefixed, sortable public ids (``rsv_01k...``) over the UUIDv7 keys of the database.

Format: TypeID 0.3 (prefix, underscore, 26 characters of Crockford base 32).
"""

from __future__ import annotations

from uuid import UUID

import uuid_utils
from typeid import TypeID
from typeid.errors import TypeIDException


class BadId(ValueError):
    """The text is not an id of the wanted kind."""


def new_uuid() -> UUID:
    """A UUIDv7: time-ordered, so indexes grow at one end."""
    return UUID(bytes=uuid_utils.uuid7().bytes)


def encode(prefix: str, value: UUID) -> str:
    """``encode("rsv", uuid)`` -> ``"rsv_01k..."``."""
    return str(TypeID.from_uuid(prefix=prefix, suffix=uuid_utils.UUID(bytes=value.bytes)))


def decode(prefix: str, text: str) -> UUID:
    """The UUID behind ``text``; raises BadId for another prefix or a malformed id."""
    try:
        parsed = TypeID.from_string(text)
    except (TypeIDException, ValueError) as error:
        raise BadId(f"{text!r} is not an id") from error
    if parsed.prefix != prefix:
        raise BadId(f"{text!r} is not a {prefix}_ id")
    return UUID(bytes=parsed.uuid_bytes)
