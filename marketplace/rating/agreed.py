"""Prices that were agreed for a period: the list as it stood when a quote was made, kept as JSON.

Bought with the quote, each second of that period costs what is kept here; before and after it the price book of the
time holds, as for everybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from marketplace.rating.items import Piece, Rate

Agreed = dict[str, list[dict[str, str]]]


def keep(pieces: Mapping[str, Sequence[Piece]]) -> Agreed:
    """Meter -> steps {price, unit_price, from, until}, adjoining, in order of time. Borders are whole seconds."""
    return {
        meter: [
            {
                "price": str(piece.rate.price_id),
                "unit_price": f"{piece.rate.unit_price:f}",
                "from": piece.span.starts_at.isoformat(),
                "until": piece.span.ends_at.isoformat(),
            }
            for piece in steps
        ]
        for meter, steps in pieces.items()
    }


def read(agreed: Mapping[str, Any] | None, meter: str) -> list[Rate]:
    """The steps of a meter as rates, each valid in its own part of the period; empty when nothing was agreed."""
    return [
        Rate(
            UUID(step["price"]),
            Decimal(step["unit_price"]),
            datetime.fromisoformat(step["from"]),
            datetime.fromisoformat(step["until"]),
        )
        for step in (agreed or {}).get(meter, ())
    ]
