"""Input and output of billing's doors. Amounts are strings with the decimals of their currency."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from billing.models import AccountStatus, InvoiceState
from billing.rating.money import EXPONENTS
from plumbing.api.fields import Instant, StrictSerializer, TypedId
from vxpu.money import ChargeKind

# Named in the settings (ENUM_NAME_OVERRIDES), so that their types have good names in the API description.
CHARGE_KINDS = [(str(kind), str(kind)) for kind in ChargeKind]
INVOICE_STATES = [choice for choice in InvoiceState.choices if choice[0] not in {"draft", "void"}]


class Amount(serializers.Field[Decimal, str, str, Any]):
    """Plain digits, never an exponent."""

    def to_representation(self, value: Decimal) -> str:
        return f"{value:f}"


@extend_schema_field({"type": "string", "format": "decimal", "example": "18.40"})
class Money(Amount):
    """An amount of money."""


@extend_schema_field({"type": "string", "format": "decimal", "example": "3.2000000000"})
class UnitPrice(Amount):
    """A price per unit, with ten decimals."""


class AccountIn(StrictSerializer):
    tenant = TypedId("ten", source="tenant_id")
    name = serializers.CharField(max_length=200)
    currency = serializers.ChoiceField(sorted(EXPONENTS), required=False, help_text="ISO 4217; the server's if absent.")
    zone = serializers.CharField(max_length=64, default="UTC", help_text="IANA name; periods are local months.")
    anchor_day = serializers.IntegerField(min_value=1, max_value=31, default=1)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {"currency": settings.VXPU_CURRENCY, **attrs}


class AccountSerializer(serializers.Serializer[Any]):
    id = TypedId("acc")
    tenant = TypedId("ten", source="tenant_id")
    name = serializers.CharField()
    currency = serializers.CharField()
    zone = serializers.CharField()
    anchor_day = serializers.IntegerField()
    status = serializers.ChoiceField(AccountStatus.choices)
    opened_at = serializers.DateTimeField()


class StatusIn(StrictSerializer):
    status = serializers.ChoiceField(AccountStatus.choices)


class PeriodIn(StrictSerializer):
    tenant = TypedId("ten", source="tenant_id")
    starts_at = Instant(help_text="With an offset; where the last period ended.")
    ends_at = Instant(help_text="Not included; in the past.")


class InvoiceLineSerializer(serializers.Serializer[Any]):
    """quantity x unit_price / divisor, rounded half-up once."""

    kind = serializers.ChoiceField(CHARGE_KINDS)
    text = serializers.CharField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    quantity = serializers.IntegerField(help_text="Permille-seconds of a device.")
    divisor = serializers.IntegerField()
    unit_price = UnitPrice()
    price = TypedId("prc", source="price_id")
    source_id = serializers.UUIDField(source="source", help_text="What was charged: a lease.")
    amount = Money()
    simulated = serializers.BooleanField(help_text="The device is simulated.")
    adjusts = TypedId("inv", allow_null=True, help_text="The invoice that this line corrects.")


class InvoiceSummarySerializer(serializers.Serializer[Any]):
    id = TypedId("inv")
    tenant = TypedId("ten", source="tenant_id")
    account = TypedId("acc", source="account_id")
    account_name = serializers.CharField()
    number = serializers.CharField()
    state = serializers.ChoiceField(INVOICE_STATES)
    currency = serializers.CharField()
    total = Money()
    paid = Money()
    zone = serializers.CharField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    issued_at = serializers.DateTimeField()
    content_hash = serializers.CharField(help_text="SHA-256 of the canonical content, in hex.")
    simulated = serializers.BooleanField(help_text="Some of it was delivered by simulated devices.")


class InvoiceSerializer(InvoiceSummarySerializer):
    lines = InvoiceLineSerializer(many=True)


class BalanceSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    currency = serializers.CharField()
    debit = Money()
    credit = Money()
    balance = Money(help_text="Debit less credit.")


class TrialBalanceSerializer(serializers.Serializer[Any]):
    """The balances of each currency add up to zero."""

    rows = BalanceSerializer(many=True)
