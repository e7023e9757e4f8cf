"""Output: quotes, and what a change would cost."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from marketplace.api.serializers import UNIT, MoneyField, PriceTermsSerializer, SliceSerializer
from marketplace.services.evaluate import Evaluation
from marketplace.services.quote import Quoted
from marketplace.services.show import FIXED
from plumbing.api.fields import TypedId
from plumbing.errors import DomainError
from vxpu.states import DeviceKind, Isolation


class QuotedPriceSerializer(serializers.Serializer[Any]):
    """Per device-hour of dominant share, at the start."""

    id = TypedId("prc")
    unit_price = serializers.DecimalField(max_digits=20, decimal_places=10)
    currency = serializers.CharField()
    unit = serializers.ChoiceField([UNIT])


class BreakdownSerializer(serializers.Serializer[Any]):
    """Which part of the device each side takes; the dominant one is what is charged."""

    label_code = serializers.ChoiceField(["compute", "memory", "dominant"])
    permille = serializers.IntegerField()


class QuotaLeftSerializer(serializers.Serializer[Any]):
    """The least that the tenant's and the project's quota leave over the period. `ok`: this wish is within it."""

    share_permille_left = serializers.IntegerField()
    memory_mib_left = serializers.IntegerField()
    reservations_left = serializers.IntegerField()
    ok = serializers.BooleanField()


class AlternativeSerializer(serializers.Serializer[Any]):
    """A time, a size and a device that would have fitted in the same snapshot."""

    kind = serializers.ChoiceField(["later", "smaller"])
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True)
    device = serializers.CharField()
    slice = SliceSerializer()


class RefusalSerializer(serializers.Serializer[Any]):
    """Why not, and what would do instead. `constraints` counts what ruled out how many devices."""

    code = serializers.CharField()
    detail = serializers.CharField()
    suggestion = serializers.CharField()
    constraints = serializers.DictField(child=serializers.IntegerField())
    next_free_at = serializers.DateTimeField(allow_null=True)
    nearest = SliceSerializer(many=True)
    alternatives = AlternativeSerializer(many=True)


def refusal_of(error: DomainError | None) -> dict[str, Any] | None:
    """The error as a part of an answer that is none: the values of `RefusalSerializer`."""
    if error is None:
        return None
    data = error.data
    return {
        "code": error.code, "detail": error.detail, "suggestion": error.suggestion,
        "constraints": data.get("constraints", {}), "next_free_at": data.get("next_free_at"),
        "nearest": data.get("nearest", []), "alternatives": data.get("alternatives", []),
    }  # fmt: skip


class TermsSerializer(serializers.Serializer[Any]):
    """What a wish would cost, and whether it fits. `device` is the one that would be taken, null when none fits; the
    other device words are then of the nearest way, or null. A quote never takes capacity."""

    fits = serializers.BooleanField()
    project = TypedId("prj")
    offer = TypedId("off", allow_null=True)
    slice = SliceSerializer()
    device_kind = serializers.ChoiceField([kind.value for kind in DeviceKind], allow_null=True)
    device = TypedId("dev", allow_null=True)
    device_model = serializers.CharField(allow_null=True)
    simulated = serializers.BooleanField(allow_null=True)
    isolation = serializers.ChoiceField([mode.value for mode in Isolation], allow_null=True)
    isolation_detail = serializers.CharField(allow_null=True)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True)
    price = QuotedPriceSerializer(allow_null=True)
    price_terms = PriceTermsSerializer()
    dominant_permille = serializers.IntegerField(allow_null=True)
    breakdown = BreakdownSerializer(many=True)
    amount_per_hour = MoneyField(allow_null=True, help_text="At the start; two decimals beyond the minor unit.")
    amount_total = MoneyField(allow_null=True, help_text="Used or not, from end to end; null for an open end.")
    currency = serializers.CharField()
    earliest_start_at = serializers.DateTimeField(allow_null=True)
    quota = QuotaLeftSerializer()
    refusal = RefusalSerializer(allow_null=True)
    preemption = serializers.ChoiceField(["none", "with_notice"], help_text="Whether it may be taken back for others.")


class QuoteSerializer(TermsSerializer):
    """Terms whose prices are held until `expires_at` for one purchase: POST /reservations with `quote`."""

    id = TypedId("quo")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class ChangeQuoteSerializer(serializers.Serializer[Any]):
    """What a change would cost. The totals are for what is still to come, from `effective_at` to the booked end."""

    fits = serializers.BooleanField()
    amount_per_hour_before = MoneyField(source="per_hour_before")
    amount_per_hour_after = MoneyField(source="per_hour_after")
    difference_per_hour = MoneyField()
    amount_total_before = MoneyField(source="total_before", allow_null=True)
    amount_total_after = MoneyField(source="total_after", allow_null=True)
    currency = serializers.CharField()
    effective_at = serializers.DateTimeField()
    refusal = serializers.SerializerMethodField()

    @extend_schema_field(RefusalSerializer(allow_null=True))
    def get_refusal(self, found: Any) -> dict[str, Any] | None:
        values = refusal_of(found.refused)
        return None if values is None else dict(RefusalSerializer(values).data)


def terms_document(found: Evaluation) -> dict[str, Any]:
    """The values of `TermsSerializer`."""
    terms, device, priced = found.terms, found.device, found.priced
    whole = terms.wish.isolation_at_least == Isolation.EXCLUSIVE
    wish = {
        "fits": found.fits, "project": terms.order.project_id, "offer": terms.order.offer_id, "slice": found.slice,
        "starts_at": terms.wish.period.starts_at, "ends_at": terms.wish.period.ends_at, "currency": terms.currency,
        "earliest_start_at": found.earliest_start_at, "refusal": refusal_of(found.refused),
        "preemption": "with_notice" if terms.order.preemptible else "none",
        "quota": {
            "share_permille_left": found.quota.share_permille, "memory_mib_left": found.quota.memory_mib,
            "reservations_left": found.quota.reservations, "ok": found.quota_ok,
        },
    }  # fmt: skip
    about = {
        "device_kind": terms.wish.device_kind if device is None else str(device.kind),
        "device": device.id if device is not None and found.fits else None,
        "device_model": None if device is None else device.model,
        "simulated": None if device is None else device.simulated,
        "isolation": None if device is None else str(Isolation.EXCLUSIVE if whole else device.isolation),
        "isolation_detail": None if device is None else device.isolation_detail,
    }
    money = {
        "price": None if priced is None else {
            "id": priced.rate.price_id, "unit_price": priced.rate.unit_price, "currency": terms.currency, "unit": UNIT,
        },
        "price_terms": {"code": FIXED, "until": None if priced is None else priced.held_until},
        "dominant_permille": None if priced is None else priced.dominant_permille,
        "breakdown": [] if priced is None else [
            {"label_code": "compute", "permille": found.slice.share_permille},
            {"label_code": "memory", "permille": priced.memory_permille},
            {"label_code": "dominant", "permille": priced.dominant_permille},
        ],
        "amount_per_hour": None if priced is None else priced.per_hour,
        "amount_total": None if priced is None else priced.total,
    }  # fmt: skip
    return {**wish, **about, **money}


def quote_document(found: Quoted) -> dict[str, Any]:
    """The answer to POST /quotes."""
    row = found.quote
    held = {"id": row.pk, "created_at": row.created_at, "expires_at": row.expires_at}
    return dict(QuoteSerializer({**terms_document(found.evaluation), **held}).data)
