"""What other rooms may ask of billing. Keyword-only; frozen values back; `now` is the caller's."""

from __future__ import annotations

from billing.exports.invoice_csv import invoice_csv
from billing.rating.money import EXPONENTS, exponent_of, round_fine, round_half_up, share_fine
from billing.rating.periods import days_between
from billing.selectors import (
    charged_amount,
    charged_lines,
    charged_so_far,
    cost_cells,
    get_account,
    get_invoice,
    invoiced_cells,
    list_invoices,
    list_issued,
    period_borders,
    trial_balance,
)
from billing.services.authorize import authorize
from billing.services.charge import charge
from billing.services.close_period import close_period
from billing.services.open_account import open_account
from billing.services.post import post, reverse
from billing.services.receive_money import pay_invoice, top_up
from billing.services.set_status import set_status
from vxpu.money import AccountView, ChargeItem, ChargeKind, ChargeOutcome, InvoiceView, LineView, SourceCost

__all__ = [
    "EXPONENTS",
    "AccountView",
    "ChargeItem",
    "ChargeKind",
    "ChargeOutcome",
    "InvoiceView",
    "LineView",
    "SourceCost",
    "authorize",
    "charge",
    "charged_amount",
    "charged_lines",
    "charged_so_far",
    "close_period",
    "cost_cells",
    "days_between",
    "exponent_of",
    "get_account",
    "get_invoice",
    "invoice_csv",
    "invoiced_cells",
    "list_invoices",
    "list_issued",
    "open_account",
    "pay_invoice",
    "period_borders",
    "post",
    "reverse",
    "round_fine",
    "round_half_up",
    "set_status",
    "share_fine",
    "top_up",
    "trial_balance",
]
