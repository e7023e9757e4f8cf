"""What can go wrong with money, as facts."""

from __future__ import annotations

from plumbing.errors import Conflict, DomainError, Invalid


class NoAccount(Conflict):
    code = "no_account"
    title = "The tenant has no billing account."


class AccountExists(Conflict):
    code = "account_exists"
    title = "The tenant has another billing account."


class AccountSuspended(DomainError):
    code = "account_suspended"
    status = 402
    title = "The account is suspended."


class AccountClosed(Conflict):
    code = "account_closed"
    title = "The account is closed."


class StatusRefused(Conflict):
    code = "account_status_refused"
    title = "The account's status does not allow this."


class BadAccount(Invalid):
    code = "bad_account"
    title = "The account cannot be opened like this."


class BadCharge(Invalid):
    code = "bad_charge"
    title = "These items cannot be charged."


class SourceOfAnother(Conflict):
    code = "source_of_another_account"
    title = "The source is charged to another account."


class TimeChargedTwice(Conflict):
    code = "time_charged_twice"
    title = "Another bucket of the source charges this time already."


class PeriodOverlaps(Conflict):
    code = "period_overlaps"
    title = "The period overlaps one that is closed."


class PeriodNotContiguous(Conflict):
    code = "period_not_contiguous"
    title = "The period does not begin where the last one ended."


class PeriodNotOver(Conflict):
    code = "period_not_over"
    title = "The period is not over yet."


class PeriodClosed(Conflict):
    code = "period_closed"
    title = "The period is closed; nothing more is posted into it."


class Unbalanced(Invalid):
    code = "unbalanced"
    title = "The entries do not add up to zero."


class KeyReused(Conflict):
    code = "ledger_key_reused"
    title = "The key was used for another posting."


class AlreadyReversed(Conflict):
    code = "already_reversed"
    title = "The posting was reversed before."


class CurrencyMismatch(Conflict):
    code = "currency_mismatch"
    title = "The amounts are in several currencies."


class PaymentTooLarge(Conflict):
    code = "payment_too_large"
    title = "The payment is larger than what is due."
