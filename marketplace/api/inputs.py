"""Input of the doors. What is out of any range that a domain rule knows is that rule's to refuse (422)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from marketplace.api.fields import WholeNumber, nullable
from marketplace.matching.queue_order import Urgency
from marketplace.models import LIVE, Meter, ReservationState, Together
from plumbing.api.fields import Instant, StrictSerializer, TypedId

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$"
SKU = rf"{NAME[:-1]}$|^\*$"
CURRENCY = r"^[A-Z]{3}$"


class SliceIn(StrictSerializer):
    memory_mib = WholeNumber(help_text="MiB, 1 or more.")
    share_permille = WholeNumber(help_text="1 to 1000; 1000 is a whole device.")


class WishIn(StrictSerializer):
    """Either `offer` or `slice`. What is left out, or null, is "any"; `starts_at` null is now, `ends_at` null open."""

    project = TypedId("prj")
    offer = nullable(TypedId, "off")
    slice = nullable(SliceIn)
    device_kind = nullable(serializers.CharField, max_length=32)
    device = nullable(TypedId, "dev")
    isolation_at_least = nullable(serializers.CharField, max_length=32)
    policy = nullable(serializers.CharField, max_length=32, help_text="Where the pool lets a wish choose.")
    models = serializers.ListField(
        child=serializers.CharField(max_length=128), required=False, default=list, max_length=32,
        help_text="Any of these device models; empty is any.",
    )  # fmt: skip
    pool = nullable(serializers.CharField, max_length=64)
    site = nullable(serializers.CharField, max_length=64, help_text="It must be there.")
    near = nullable(serializers.CharField, max_length=64, help_text="A site: places near it are preferred.")
    cores_milli = nullable(
        WholeNumber, min_value=0, max_value=10**9,
        help_text="Thousandths of a processor core of the node beside the device; none, if left out.",
    )  # fmt: skip
    host_mib = nullable(
        WholeNumber, min_value=0, max_value=2**40, help_text="Main memory of the node, MiB; none, if left out."
    )
    copy_permille = nullable(
        WholeNumber, min_value=0, max_value=1000,
        help_text="Part of the link between device and host; 0 (or left out) is what is left over.",
    )  # fmt: skip
    preemptible = nullable(
        serializers.BooleanField,
        help_text="It may be taken back for others, after a notice; then it waits again. No, if left out.",
    )
    starts_at = nullable(Instant)
    ends_at = nullable(Instant)


class QuoteIn(WishIn):
    """What would it cost, does it fit, and what would fit instead?"""


class Name(serializers.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=200, allow_blank=True, **kwargs)


def urgency() -> Any:
    return nullable(
        serializers.ChoiceField, [one.value for one in Urgency],
        help_text="Its class in the queue, `normal` if left out; `urgent` has a quota of its own.",
    )  # fmt: skip


class ReservationIn(WishIn):
    """Either a wish of its own, or `quote`, which holds the whole of it: then only `name` may stand beside it."""

    project = nullable(TypedId, "prj", help_text="Needed without `quote`.")
    quote = nullable(TypedId, "quo", help_text="Buy what was quoted, at the quoted price, once.")
    name = Name(required=False, default="", help_text="For people; any text.")
    queue = serializers.BooleanField(required=False, default=False, help_text="Wait in line if nothing fits now.")
    priority = urgency()
    queue_until = nullable(Instant, help_text="Give up waiting then; a day from now if left out.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["quote"] is None and attrs["project"] is None:
            raise serializers.ValidationError(
                {"project": [serializers.ErrorDetail("This field is required.", "required")]}
            )
        if attrs["quote"] is not None:
            beside = sorted(name for name, value in attrs.items() if value and name not in {"quote", "name"})
            said = serializers.ErrorDetail("The quote holds this already.", "beside_quote")
            if beside:
                raise serializers.ValidationError({name: [said] for name in beside})
        return attrs


class GangIn(WishIn):
    """`count` reservations of one wish, all or none. `together`: on one `node`, in one `rack` or at one `site`, on
    `devices` of their own anywhere, or `any`where (two may share a device)."""

    count = WholeNumber(min_value=1, max_value=2**15, help_text="How many.")
    together = serializers.ChoiceField(Together.choices, required=False, default=Together.NODE)
    name = Name(required=False, default="", help_text="For people; any text.")
    queue = serializers.BooleanField(required=False, default=False, help_text="Wait in line if nothing fits now.")
    priority = urgency()
    queue_until = nullable(Instant, help_text="Give up waiting then; a day from now if left out.")


class RenameIn(StrictSerializer):
    name = Name()


class ResizeIn(StrictSerializer):
    slice = SliceIn()


class ExtendIn(StrictSerializer):
    ends_at = Instant(allow_null=True, help_text="null is open-ended.")


class EmptyIn(StrictSerializer):
    """No fields."""


class OfferIn(StrictSerializer):
    sku = serializers.RegexField(NAME, help_text="The name that prices refer to.")
    title = serializers.CharField(max_length=120)
    profile = serializers.RegexField(NAME, required=False, default="", help_text="A name for the size, like 1/4.")
    slice = SliceIn()
    device_kind = serializers.CharField(max_length=32)
    isolation_at_least = nullable(serializers.CharField, max_length=32)
    policy = nullable(serializers.CharField, max_length=32)


class PriceBookIn(StrictSerializer):
    name = serializers.CharField(max_length=120)
    currency = serializers.RegexField(CURRENCY, help_text="ISO 4217.")
    tenant = nullable(TypedId, "ten", help_text="Prices for this tenant alone.")


class PriceIn(StrictSerializer):
    sku = serializers.RegexField(SKU, help_text="An offer's sku, a device kind, or * for any.")
    meter = serializers.ChoiceField(Meter.choices, required=False, default=Meter.DELIVERED)
    unit_price = serializers.DecimalField(max_digits=20, decimal_places=10, help_text="Per device-hour.")
    valid_from = nullable(Instant, help_text="Now if left out.")
    valid_until = nullable(Instant, help_text="Open if left out.")
    ends_previous = serializers.BooleanField(
        required=False, default=False, help_text="End the price that is valid then, at that instant."
    )


class EndPriceIn(StrictSerializer):
    ends_at = nullable(Instant, help_text="Now if left out.")


BIG = 2**53


class LimitsIn(StrictSerializer):
    """What is left out stays as it is; null is "no limit"."""

    borrow_permille = WholeNumber(
        min_value=0,
        max_value=2**31 - 1,
        required=False,
        allow_null=True,
        help_text="More than its own, of what others leave.",
    )
    borrow_mib = WholeNumber(min_value=0, max_value=BIG, required=False, allow_null=True)
    lend_permille = WholeNumber(
        min_value=0,
        max_value=2**31 - 1,
        required=False,
        allow_null=True,
        help_text="Of its own, that others may use.",
    )
    lend_mib = WholeNumber(min_value=0, max_value=BIG, required=False, allow_null=True)
    weight = WholeNumber(min_value=1, max_value=10_000, required=False, help_text="Its part of what is contended.")


class QuotaIn(LimitsIn):
    """`urgent_permille` and `cohort` are the operator's to set; null is the house's setting, and no cohort."""

    tenant = nullable(TypedId, "ten", help_text="The caller's own if left out.")
    project = nullable(TypedId, "prj", help_text="The whole tenant if left out.")
    nominal_permille = WholeNumber(min_value=0, max_value=2**31 - 1)
    nominal_mib = WholeNumber(min_value=0, max_value=2**53)
    max_reservations = WholeNumber(min_value=0, max_value=2**31 - 1)
    urgent_permille = WholeNumber(min_value=0, max_value=2**31 - 1, required=False, allow_null=True)
    cohort = TypedId("coh", source="cohort_id", required=False, allow_null=True)


class CohortIn(LimitsIn):
    name = serializers.CharField(max_length=120)
    parent_cohort = TypedId("coh", source="parent_id", required=False, allow_null=True, help_text="null: a root.")
    nominal_permille = WholeNumber(
        min_value=0, max_value=2**31 - 1, required=False, help_text="Nobody's own; its children's comes to it."
    )
    nominal_mib = WholeNumber(min_value=0, max_value=BIG, required=False)


class CohortChangeIn(CohortIn):
    name = serializers.CharField(max_length=120, required=False)


class ReconciliationIn(serializers.Serializer[object]):
    device = TypedId("dev")
    currency = serializers.RegexField(CURRENCY, required=False, default="")


class ReservationFilterIn(serializers.Serializer[object]):
    project = TypedId("prj", required=False, allow_null=True, default=None)
    q = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)


LIVE_WORD = "live"


def states_in(values: Sequence[str]) -> frozenset[ReservationState]:
    """``?state=active&state=queued``, ``?state=active,queued``; ``live`` is all that have not ended. Empty is all."""
    words = [word for value in values for word in value.split(",") if word]
    known = {*ReservationState.values, LIVE_WORD}
    unknown = sorted(set(words) - known)
    if unknown:
        raise serializers.ValidationError({"state": [f"{unknown[0]!r} is none of: {', '.join(sorted(known))}."]})
    live = LIVE if LIVE_WORD in words else frozenset()
    return live | {ReservationState(word) for word in words if word != LIVE_WORD}
