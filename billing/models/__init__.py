"""One noun a file. Fields, constraints, choices and the moves that are legal; no business verbs."""

from billing.models.account import Account, AccountStatus
from billing.models.charge import Charge
from billing.models.invoice import Invoice, InvoiceKind, InvoiceLine, InvoiceState
from billing.models.ledger import Entry, LedgerAccount, LedgerCode, Txn
from billing.models.period import BillingPeriod, PeriodState
from billing.models.series import NumberSeries

__all__ = [
    "Account",
    "AccountStatus",
    "BillingPeriod",
    "Charge",
    "Entry",
    "Invoice",
    "InvoiceKind",
    "InvoiceLine",
    "InvoiceState",
    "LedgerAccount",
    "LedgerCode",
    "NumberSeries",
    "PeriodState",
    "Txn",
]
