"""A posting before it is written: signed amounts by ledger code that add up to zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from billing.rating.money import is_rounded, to_minor


class NotBalanced(ValueError):
    """The entries do not add up to zero, or one of them is zero or not rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostingView:
    """A posted transaction: debits positive, credits negative."""

    id: UUID
    account_id: UUID
    key: str
    text: str
    posted_at: datetime
    currency: str
    amounts: Mapping[str, Decimal]


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceRow:
    """One ledger code of the trial balance; `balance` is debit - credit."""

    code: str
    currency: str
    debit: Decimal
    credit: Decimal
    balance: Decimal


def check_balanced(amounts: Mapping[str, Decimal], currency: str) -> None:
    """Raises NotBalanced."""
    if len(amounts) < 2 or any(amount == 0 for amount in amounts.values()):
        raise NotBalanced("a posting has at least two entries, none of them zero")
    if not all(is_rounded(amount, currency) for amount in amounts.values()):
        raise NotBalanced(f"amounts must be whole minor units of {currency}")
    if (rest := sum(to_minor(amount, currency) for amount in amounts.values())) != 0:
        raise NotBalanced(f"the entries add up to {rest} minor units of {currency}")


def opposite(amounts: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """What takes the posting back."""
    return {code: -amount for code, amount in amounts.items()}
