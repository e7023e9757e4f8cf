"""The two reading habits of the wire."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """What the server accepts from an agent: an unknown field is an error that is said."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Lenient(BaseModel):
    """What an agent or a client reads from a server that may be newer: unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")
