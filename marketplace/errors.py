"""What may go wrong in the shop, as facts."""

from __future__ import annotations

from plumbing.errors import Conflict, DomainError, Invalid


class QuotaExceeded(DomainError):
    """`data`: scope, resource, nominal, in_use, asked."""

    code = "quota_exceeded"
    status = 409
    title = "The quota does not allow this much at a time."


class QuotaMoved(Conflict):
    code = "quota_moved"
    title = "The tenant was put into another cohort in between."


class CohortInUse(Conflict):
    """`data`: tenants, cohorts: how many of each are in it."""

    code = "cohort_in_use"
    title = "The cohort is not empty."


class CohortRefused(Conflict):
    """A ring, or more levels than there may be."""

    code = "cohort_refused"
    title = "The cohort cannot hang there."


class CohortExists(Conflict):
    code = "cohort_exists"
    title = "There is a cohort of that name."


class NoPrice(Conflict):
    code = "no_price"
    title = "Nothing is sold at that time: no price is valid."


class PriceOverlaps(Conflict):
    code = "price_overlaps"
    title = "Another price of this name is valid in that time."


class PriceStarted(Conflict):
    code = "price_started"
    title = "A price that has started can only be given an end."


class OfferExists(Conflict):
    code = "offer_exists"
    title = "There is an offer of that name."


class OfferClosed(Conflict):
    code = "offer_closed"
    title = "This offer is no longer sold."


class BookExists(Conflict):
    code = "price_book_exists"
    title = "There is a price book of that name."


class WrongPeriod(Invalid):
    code = "wrong_period"
    title = "The period is not possible."


class WrongState(Conflict):
    """`data`: state."""

    code = "wrong_state"
    title = "The reservation's state does not allow this."


class ReservationChanged(Conflict):
    code = "reservation_changed"
    title = "The reservation changed in between; read it again."


class NothingEarlier(Conflict):
    code = "nothing_earlier"
    title = "There is no earlier start."


class DoesNotAddUp(DomainError):
    """The device identity failed: an error to be looked into, never adjusted. `data`: the figures."""

    code = "does_not_add_up"
    status = 500
    title = "Charges, idle time and over-recovery do not add up to the device."


class QuoteExpired(Conflict):
    """`now`: the terms of this moment, not held: ask for a new quote to hold them. `fresh` carries them to the door."""

    code = "quote_expired"
    title = "The quote's time is over; its price is no longer held."
    fresh: object = None


class QuoteUsed(Conflict):
    """`reservation`: what was bought with it."""

    code = "quote_used"
    title = "The quote was used."


class QuoteRefused(Conflict):
    """`refusal`: why the quote promised nothing."""

    code = "quote_refused"
    title = "The quote said no: there is nothing to buy with it."


class NotPlacedYet(Conflict):
    code = "not_placed_yet"
    title = "It has no device yet."


class GangBroken(Conflict):
    code = "gang_broken"
    title = "Not all members of the gang can be placed."
