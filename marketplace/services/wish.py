"""From what was asked to a wish that the allocator understands, and refusals with a way on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from pydantic import ValidationError

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from marketplace import selectors
from marketplace.errors import OfferClosed, WrongPeriod
from marketplace.matching.queue_order import Urgency
from marketplace.models import Offer, Reservation
from plumbing.errors import Invalid
from vxpu.market import Wish
from vxpu.slices import Period, Slice
from vxpu.states import DeviceKind, Isolation

# A caller's clock may lag a little; a start that is longer past is an error, not "now".
CLOCK_GRACE = timedelta(seconds=60)
HORIZON = timedelta(days=3 * 366)


class WrongSize(Invalid):
    code = "wrong_size"
    title = "The slice is not possible."


class WrongChoice(Invalid):
    code = "wrong_choice"
    title = "One of the choices is unknown, or they contradict each other."


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A request as it came in. Either `offer_id` or the sizes; None elsewhere is "any", `starts_at` None is now."""

    tenant_id: UUID
    project_id: UUID
    offer_id: UUID | None = None
    memory_mib: int | None = None
    share_permille: int | None = None
    device_kind: str | None = None
    device_id: UUID | None = None
    isolation_at_least: str | None = None
    policy: str | None = None
    models: tuple[str, ...] = ()
    pool: str | None = None
    site: str | None = None
    near: str | None = None
    cores_milli: int = 0
    host_mib: int = 0
    copy_permille: int = 0
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    preemptible: bool = False
    queue: bool = False
    queued_until: datetime | None = None
    priority: str = Urgency.NORMAL


def size_of(memory_mib: int, share_permille: int) -> Slice:
    """Raises WrongSize (422) for what no device could ever be."""
    try:
        return Slice(memory_mib=memory_mib, share_permille=share_permille)
    except ValidationError as error:
        first = error.errors()[0]
        raise WrongSize(
            f"{first['loc'][0]}: {first['msg']}.",
            suggestion="memory_mib is 1 or more, share_permille is 1 to 1000 (1000 is a whole device).",
        ) from error


def period_of(starts_at: datetime | None, ends_at: datetime | None, *, now: datetime) -> Period:
    """Half-open; a start up to a minute ago is now. Raises WrongPeriod (422)."""
    first = now if starts_at is None else starts_at
    if first < now - CLOCK_GRACE:
        raise WrongPeriod(f"{first.isoformat()} is past.", suggestion="Leave starts_at out to begin now.")
    first = max(first, now)
    if ends_at is not None and ends_at <= first:
        raise WrongPeriod("ends_at must be after starts_at.", suggestion="Periods are half-open: [starts_at, ends_at).")
    if max(first, ends_at or first) > now + HORIZON:
        raise WrongPeriod("That is more than three years ahead.", suggestion="Choose an earlier time.")
    return Period(starts_at=first, ends_at=ends_at)


def wish_of(order: Order, *, now: datetime) -> tuple[Wish, Offer | None]:
    """Raises WrongSize, WrongChoice, WrongPeriod, OfferClosed, NotFound."""
    offer = None if order.offer_id is None else selectors.get_offer(offer_id=order.offer_id)
    sizes = (order.memory_mib, order.share_permille)
    if offer is not None:
        if not offer.is_open:
            raise OfferClosed(suggestion="See /api/v1/offers.")
        if sizes != (None, None) or order.device_kind not in {None, offer.device_kind}:
            raise WrongChoice("An offer fixes the slice and the device kind.", suggestion="Send either of the two.")
        sizes = (offer.profile.memory_mib, offer.profile.share_permille)
    if sizes[0] is None or sizes[1] is None:
        raise WrongChoice("There is no size.", suggestion="Send `offer`, or `slice` with both sizes.")
    wish = Wish(
        slice=size_of(sizes[0], sizes[1]),
        period=period_of(order.starts_at, order.ends_at, now=now),
        device_kind=known_device_kind(offer.device_kind if offer else order.device_kind),
        device_id=order.device_id,
        isolation_at_least=known_isolation(order.isolation_at_least or (offer.isolation_at_least if offer else None)),
        policy=known_policy(order.policy or (offer.policy if offer else None)),
        models=order.models,
        pool=order.pool,
        site=order.site,
        near=order.near,
        cores_milli=order.cores_milli,
        host_mib=order.host_mib,
        copy_permille=order.copy_permille,
    )
    check_choices(wish)
    return wish, offer


def check_choices(wish: Wish) -> None:
    """Raises WrongChoice for a model, pool or site that there is not, and for parts that no host has."""
    if min(wish.cores_milli, wish.host_mib, wish.copy_permille) < 0 or wish.copy_permille > 1000:
        raise WrongChoice(
            "A part of the host is 0 or more; `copy_permille` is at most 1000.", suggestion="Leave out what is any."
        )
    if not (wish.models or wish.pool or wish.site or wish.near):
        return
    choices = allocator.list_choices()
    for model in wish.models:
        _known(model, choices.models, "models")
    _known(wish.pool, choices.pools, "pool")
    _known(wish.site, choices.sites, "site")
    _known(wish.near, choices.sites, "near")


def wish_again(reservation: Reservation, *, period: Period) -> Wish:
    """What a reservation wants, for another period."""
    return Wish(
        slice=slice_of(reservation),
        period=period,
        device_kind=reservation.device_kind or None,
        device_id=reservation.wanted_device_id,
        isolation_at_least=known_isolation(reservation.isolation_at_least),
        policy=reservation.policy or None,
        models=tuple(reservation.device_models),
        pool=reservation.pool or None,
        site=reservation.site or None,
        near=reservation.near or None,
        cores_milli=reservation.cores_milli,
        host_mib=reservation.host_mib,
        copy_permille=reservation.copy_permille,
    )


def period_now(reservation: Reservation, *, now: datetime) -> Period:
    """Of what waits: a start that has passed is now, and the length stays; one that is to come stays."""
    starts_at, ends_at = reservation.starts_at, reservation.ends_at
    if starts_at > now:
        return Period(starts_at=starts_at, ends_at=ends_at)
    return Period(starts_at=now, ends_at=None if ends_at is None else now + (ends_at - starts_at))


def slice_of(reservation: Reservation) -> Slice:
    return Slice(memory_mib=reservation.memory_mib, share_permille=reservation.share_permille)


def _known(value: str | None, known: tuple[str, ...], name: str) -> str | None:
    if value and value not in known:
        names = ", ".join(known)
        raise WrongChoice(
            f"{name} {value!r} is unknown.",
            suggestion=f"One of: {names}." if names else "There are none: leave it out.",
        )
    return value or None


def known_device_kind(value: str | None) -> str | None:
    """Raises WrongChoice, as the next two."""
    return _known(value, tuple(DeviceKind), "device_kind")


def known_policy(value: str | None) -> str | None:
    return _known(value, allocator.policy_names(), "policy")


def known_isolation(value: str | None) -> Isolation | None:
    known = _known(value, tuple(Isolation), "isolation_at_least")
    return None if known is None else Isolation(known)


def refusal(error: DoesNotFit) -> DoesNotFit:
    """The allocator's "no", with what to do next: a "no" comes with a reason and a way."""
    ways = []
    if error.data.get("next_free_at"):
        ways.append("reserve for `next_free_at`")
    if error.data.get("nearest"):
        ways.append("take one of the sizes in `nearest`")
    if error.may_come_free:
        ways.append('send "queue": true to wait')
    way = "; or ".join(ways) or "change the wish: no waiting helps"
    return DoesNotFit(error.detail, suggestion=f"{way}.".capitalize(), **error.data)


def refusal_of_change(error: DoesNotFit) -> DoesNotFit:
    """The same for a reservation that wants to grow where it is: it keeps what it has."""
    ways = "Nothing changed. Take one of the sizes that fit, or make a second reservation beside it."
    return DoesNotFit(error.detail, suggestion=ways, **error.data)
