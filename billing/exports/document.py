"""The canonical form of an invoice: the bytes that its content hash covers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from vxpu.money import InvoiceView, LineView

# What may change after issue, and the hash itself.
_NOT_CONTENT = frozenset({"state", "paid", "content_hash"})


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case Decimal():
            return f"{value:f}"
        case UUID():
            return str(value)
        case tuple():
            return [_plain(item) for item in value]
        case LineView():
            return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def canonical_bytes(invoice: InvoiceView) -> bytes:
    """Equal invoices have equal bytes: sorted keys, UTC instants, decimals as text, lines in their order."""
    content = {
        field.name: _plain(getattr(invoice, field.name)) for field in fields(invoice) if field.name not in _NOT_CONTENT
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def content_hash(invoice: InvoiceView) -> str:
    """SHA-256 of the canonical bytes, in hex."""
    return hashlib.sha256(canonical_bytes(invoice)).hexdigest()
