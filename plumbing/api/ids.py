"""Ids in addresses."""

from __future__ import annotations

from uuid import UUID

from plumbing.errors import NotFound
from vxpu.ids import BadId, decode


def path_id(prefix: str, text: str) -> UUID:
    """The UUID behind ``rsv_...`` in an address; raises NotFound (404) for anything else."""
    try:
        return decode(prefix, text)
    except BadId as error:
        raise NotFound(str(error), suggestion=f"Ids here look like {prefix}_01k...") from error
