"""Output: reservations, prices, offers, quotas and the device identity."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from marketplace.matching.queue_order import Urgency
from marketplace.models import EvictionKind, EvictionReason, Meter, Price, ReservationState
from marketplace.services.show import FIXED, LISTED
from plumbing.api.fields import TypedId
from vxpu.ids import encode
from vxpu.states import DeviceKind, Isolation, LeaseState, Quality

UNIT = "device-hour"


@extend_schema_serializer(component_name="BookedSlice")
class SliceSerializer(serializers.Serializer[Any]):
    memory_mib = serializers.IntegerField()
    share_permille = serializers.IntegerField()


class MoneyField(serializers.CharField):
    """A decimal as text at its currency's own exponent: nothing is rounded on the way out."""

    def to_representation(self, value: Any) -> str:
        return f"{value:f}"


class LeaseBriefSerializer(serializers.Serializer[Any]):
    """The live part; the whole of it is at /api/v1/leases/{id}."""

    id = TypedId("lse")
    state = serializers.ChoiceField([state.value for state in LeaseState])
    device = TypedId("dev", source="device_id")
    isolation = serializers.ChoiceField([mode.value for mode in Isolation])
    ready_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    end_reason = serializers.CharField()


class AgreedPriceSerializer(serializers.Serializer[Any]):
    """The price shown at the purchase. Time is charged at the price that is valid when it is delivered."""

    id = TypedId("prc", source="price_id")
    unit_price = serializers.DecimalField(max_digits=20, decimal_places=10)
    currency = serializers.CharField()
    unit = serializers.SerializerMethodField()

    @extend_schema_field({"type": "string", "enum": [UNIT]})
    def get_unit(self, row: Any) -> str:  # noqa: ARG002 - DRF's signature
        return UNIT


class QueueSerializer(serializers.Serializer[Any]):
    """`best` and `worst` place in line; `waits_for` names the constraint. By the replays of the calendar it starts at
    `estimated_start_at` in half of them and by `estimated_start_by` in nine of ten; null is "not known". After
    `attempts` failed tries the next one comes at `next_try_at`."""

    best = serializers.IntegerField()
    worst = serializers.IntegerField()
    waits_for = serializers.CharField()
    estimated_start_at = serializers.DateTimeField(allow_null=True)
    estimated_start_by = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField()
    next_try_at = serializers.DateTimeField(allow_null=True)


class CostSoFarSerializer(serializers.Serializer[Any]):
    """Charged so far; what runs has an estimate of the seconds not charged yet, and says so by its quality."""

    amount = MoneyField(help_text="Two decimals beyond the currency's minor unit.")
    currency = serializers.CharField()
    as_of = serializers.DateTimeField()
    quality = serializers.ChoiceField([quality.value for quality in Quality])


class PriceTermsSerializer(serializers.Serializer[Any]):
    """`fixed_until`: bought with a quote, each second until `until` costs what was quoted, whatever the list says.
    `list_at_delivery`: the price that is valid when the time is delivered."""

    code = serializers.ChoiceField([FIXED, LISTED])
    until = serializers.DateTimeField(allow_null=True)


class PlacedOnSerializer(serializers.Serializer[Any]):
    """As it was at the booking."""

    id = TypedId("dev", source="device_id")
    model = serializers.CharField(source="device_model")
    kind = serializers.ChoiceField([kind.value for kind in DeviceKind], source="device_kind")
    simulated = serializers.BooleanField(source="device_simulated")


class PreemptionSerializer(serializers.Serializer[Any]):
    """A notice that is in force: the slice ends at `ends_at` for others, and nothing is charged since `notice_at`."""

    notice_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(source="evict_at")


MOVING_STATES = ("preparing", "ready", "hooking")


class MoveBriefSerializer(serializers.Serializer[Any]):
    """It is to go on on another device. Until the switch it runs where it is, and price and times stay."""

    state = serializers.ChoiceField(
        MOVING_STATES, help_text="The new slice is made; is ready; programs are asked to save."
    )
    reason = serializers.CharField()
    to_device = TypedId("dev")
    begun_at = serializers.DateTimeField(source="created_at")
    hook_deadline = serializers.DateTimeField(allow_null=True, help_text="Until then the hook may save what there is.")
    hook_result = serializers.CharField(help_text="ok, failed, timeout, none, silent; empty until it is known.")


class ReservationSerializer(serializers.Serializer[Any]):
    """What was bought, when, at which price, and its live part. `ends_at` null is open-ended."""

    id = TypedId("rsv", source="row.id")
    name = serializers.CharField(source="row.name", help_text="For people; may be empty.")
    state = serializers.ChoiceField(ReservationState.choices, source="row.state")
    tenant = TypedId("ten", source="row.tenant_id")
    project = TypedId("prj", source="row.project_id")
    requested_by = TypedId("usr", source="row.requested_by")
    offer = TypedId("off", source="row.offer_id", allow_null=True)
    slice = SliceSerializer(source="row")
    device_kind = serializers.SerializerMethodField()
    starts_at = serializers.DateTimeField(source="row.starts_at")
    ends_at = serializers.DateTimeField(source="row.ends_at", allow_null=True)
    released_at = serializers.DateTimeField(source="row.released_at", allow_null=True)
    ended_at = serializers.DateTimeField(source="row.ended_at", allow_null=True)
    end_reason = serializers.CharField(source="row.end_reason")
    earlier_start_at = serializers.DateTimeField(
        source="row.earlier_start_at", allow_null=True, help_text="Offered; take it by start-earlier."
    )
    lease = LeaseBriefSerializer(allow_null=True)
    device = PlacedOnSerializer(source="placement", allow_null=True)
    isolation = serializers.SerializerMethodField()
    price = serializers.SerializerMethodField()
    price_terms = PriceTermsSerializer()
    quote = TypedId("quo", source="row.quote_id", allow_null=True)
    amount_per_hour = MoneyField(source="per_hour", allow_null=True, help_text="At the price of now, or of its start.")
    cost_so_far = CostSoFarSerializer(source="cost", allow_null=True)
    priority = serializers.ChoiceField([one.value for one in Urgency], source="row.priority")
    queue = QueueSerializer(source="position", allow_null=True)
    queue_until = serializers.DateTimeField(source="row.queued_until", allow_null=True)
    preemptible = serializers.BooleanField(source="row.preemptible", help_text="It may be taken back for others.")
    preemption = serializers.SerializerMethodField()
    evictions = serializers.IntegerField(source="row.evictions", help_text="How often it was taken back.")
    checkpointed_at = serializers.DateTimeField(source="row.checkpointed_at", allow_null=True)
    created_at = serializers.DateTimeField(source="row.created_at")
    move = MoveBriefSerializer(allow_null=True)

    @extend_schema_field(serializers.ChoiceField([kind.value for kind in DeviceKind], allow_null=True))
    def get_device_kind(self, shown: Any) -> str | None:
        return shown.row.device_kind or None

    @extend_schema_field(serializers.ChoiceField([mode.value for mode in Isolation], allow_null=True))
    def get_isolation(self, shown: Any) -> str | None:
        return None if shown.lease is None else str(shown.lease.isolation)

    @extend_schema_field(AgreedPriceSerializer(allow_null=True))
    def get_price(self, shown: Any) -> dict[str, Any] | None:
        return None if shown.row.price_id is None else dict(AgreedPriceSerializer(shown.row).data)

    @extend_schema_field(PreemptionSerializer(allow_null=True))
    def get_preemption(self, shown: Any) -> dict[str, Any] | None:
        return None if shown.row.evict_at is None else dict(PreemptionSerializer(shown.row).data)


class EvictionSerializer(serializers.Serializer[Any]):
    """One step of an eviction. `wasted_permille_s`: the work since the last checkpoint, estimated at the notice.
    `refunded_permille_s`: delivered from the notice on, and not charged."""

    id = TypedId("evn")
    kind = serializers.ChoiceField(EvictionKind.choices)
    reason = serializers.ChoiceField(EvictionReason.choices)
    at = serializers.DateTimeField()
    deadline_at = serializers.DateTimeField()
    lease = TypedId("lse", source="lease_id")
    wasted_permille_s = serializers.IntegerField()
    refunded_permille_s = serializers.IntegerField()
    taken_for = serializers.SerializerMethodField()

    @extend_schema_field({"type": ["string", "null"], "description": "Whose place it became; only operators see it."})
    def get_taken_for(self, row: Any) -> str | None:
        return encode("rsv", row.for_id) if self.context.get("sees_all") else None


class ReservationEventSerializer(serializers.Serializer[Any]):
    """One transition."""

    version = serializers.IntegerField()
    from_state = serializers.CharField()
    to_state = serializers.ChoiceField(ReservationState.choices)
    actor = serializers.CharField()
    reason = serializers.CharField()
    at = serializers.DateTimeField()


class PriceStepSerializer(serializers.Serializer[Any]):
    """From `at` on, until the next step; null is "not sold then"."""

    at = serializers.DateTimeField()
    unit_price = serializers.DecimalField(max_digits=20, decimal_places=10, allow_null=True)


class OfferSerializer(serializers.Serializer[Any]):
    """`price` is what the caller pays now, null when nothing is valid now. `isolation` is shown before purchase.

    `earliest_start_at` and `free` are for an hour of it, from one snapshot, and promise nothing; null is "never" and
    "nothing". `price_line` begins a day ago and holds the steps that are published for the next 31 days.
    """

    id = TypedId("off", source="offer.id")
    sku = serializers.CharField(source="offer.sku")
    title = serializers.CharField(source="offer.title")
    profile = serializers.CharField(source="offer.profile.code")
    slice = SliceSerializer()
    device_kind = serializers.CharField(source="offer.device_kind")
    isolation_at_least = serializers.SerializerMethodField()
    isolation = serializers.ListField(child=serializers.CharField())
    simulated = serializers.BooleanField(source="is_simulated")
    devices_online = serializers.IntegerField(source="devices")
    price = serializers.SerializerMethodField()
    price_line = PriceStepSerializer(many=True)
    earliest_start_at = serializers.DateTimeField(source="outlook.earliest_start_at", allow_null=True)
    free = SliceSerializer(source="outlook.free", allow_null=True)
    preset = serializers.CharField(allow_null=True, help_text="1/8 to 1: its compute share, if it is such a part.")
    health = serializers.IntegerField(allow_null=True, help_text="0 to 100 of the best device; null: not known.")

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_isolation_at_least(self, shown: Any) -> str | None:
        return shown.offer.isolation_at_least or None

    @extend_schema_field(AgreedPriceSerializer(allow_null=True))
    def get_price(self, shown: Any) -> dict[str, Any] | None:
        if shown.price is None:
            return None
        return {
            "id": TypedId("prc").to_representation(shown.price.price_id),
            "unit_price": f"{shown.price.unit_price:.10f}",
            "currency": shown.currency,
            "unit": UNIT,
        }


class PriceBookSerializer(serializers.Serializer[Any]):
    """`tenant` null is the list for everybody."""

    id = TypedId("pbk")
    name = serializers.CharField()
    currency = serializers.CharField()
    tenant = TypedId("ten", source="for_tenant_id", allow_null=True)
    created_at = serializers.DateTimeField()


class PriceSerializer(serializers.Serializer[Any]):
    """Per device-hour of dominant share, valid in [valid_from, valid_until)."""

    id = TypedId("prc")
    book = TypedId("pbk", source="book_id")
    sku = serializers.CharField()
    meter = serializers.ChoiceField(Meter.choices)
    unit_price = serializers.DecimalField(max_digits=20, decimal_places=10)
    currency = serializers.CharField()
    unit = serializers.SerializerMethodField()
    valid_from = serializers.SerializerMethodField()
    valid_until = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()

    @extend_schema_field({"type": "string", "enum": [UNIT]})
    def get_unit(self, price: Price) -> str:  # noqa: ARG002 - DRF's signature
        return UNIT

    @extend_schema_field(serializers.DateTimeField())
    def get_valid_from(self, price: Price) -> str | None:
        return _instant(price.valid.lower)

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_valid_until(self, price: Price) -> str | None:
        return _instant(price.valid.upper)


def _instant(at: datetime | None) -> str | None:
    return None if at is None else serializers.DateTimeField().to_representation(at)


class QuotaUseSerializer(serializers.Serializer[Any]):
    """The peak of what is held from now on."""

    share_permille = serializers.IntegerField(source="permille_in_use")
    memory_mib = serializers.IntegerField(source="mib_in_use")
    reservations = serializers.IntegerField()


class QuotaSerializer(serializers.Serializer[Any]):
    """`project` null is the whole tenant. 1000 permille is one device."""

    tenant = TypedId("ten", source="tenant_id")
    project = TypedId("prj", source="project_id", allow_null=True)
    nominal_permille = serializers.IntegerField()
    nominal_mib = serializers.IntegerField()
    max_reservations = serializers.IntegerField()
    urgent_permille = serializers.IntegerField(
        source="row.urgent_permille", allow_null=True, help_text="null: the house's setting."
    )
    borrow_permille = serializers.IntegerField(source="row.borrow_permille", allow_null=True)
    borrow_mib = serializers.IntegerField(source="row.borrow_mib", allow_null=True)
    lend_permille = serializers.IntegerField(source="row.lend_permille", allow_null=True)
    lend_mib = serializers.IntegerField(source="row.lend_mib", allow_null=True)
    weight = serializers.IntegerField(source="row.weight")
    cohort = TypedId("coh", source="row.cohort_id", allow_null=True)
    in_use = QuotaUseSerializer(source="*")


class AmountSerializer(serializers.Serializer[Any]):
    share_permille = serializers.IntegerField(source="permille")
    memory_mib = serializers.IntegerField(source="mib")


class CohortTenantSerializer(serializers.Serializer[Any]):
    """`recent_*` is its use forgotten by halves: what fair share goes by."""

    tenant = TypedId("ten", source="tenant_id")
    weight = serializers.IntegerField()
    in_use = AmountSerializer()
    recent_permille_s = serializers.IntegerField(source="recent.permille")
    recent_mib_s = serializers.IntegerField(source="recent.mib")


class CohortSerializer(serializers.Serializer[Any]):
    """A cohort's quota is its own nominal and its children's; `in_use` is now, with what is kept for its children.

    `borrow_*`, `lend_*` null: no limit.
    """

    id = TypedId("coh", source="row.id")
    name = serializers.CharField(source="row.name")
    parent_cohort = TypedId("coh", source="row.parent_id", allow_null=True)
    nominal_permille = serializers.IntegerField(source="row.nominal_permille")
    nominal_mib = serializers.IntegerField(source="row.nominal_mib")
    borrow_permille = serializers.IntegerField(source="row.borrow_permille", allow_null=True)
    borrow_mib = serializers.IntegerField(source="row.borrow_mib", allow_null=True)
    lend_permille = serializers.IntegerField(source="row.lend_permille", allow_null=True)
    lend_mib = serializers.IntegerField(source="row.lend_mib", allow_null=True)
    weight = serializers.IntegerField(source="row.weight")
    quota = AmountSerializer()
    in_use = AmountSerializer()
    tenants = CohortTenantSerializer(many=True)


class QuantitiesSerializer(serializers.Serializer[Any]):
    """Permille-seconds of the device: charged + idle - over_recovery + cut = total; `cut` is 0 on the rating grid."""

    charged = serializers.IntegerField()
    idle = serializers.IntegerField()
    over_recovery = serializers.IntegerField(source="over")
    total = serializers.IntegerField()
    cut = serializers.IntegerField()


class ReconciliationSerializer(serializers.Serializer[Any]):
    """charged + discount + idle - over_recovery = cost. `rounding` is the residue of rounded lines, carried by idle."""

    device = TypedId("dev", source="device.id")
    kind = serializers.CharField(source="device.kind")
    model = serializers.CharField(source="device.model")
    simulated = serializers.BooleanField(source="device.simulated")
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    currency = serializers.CharField()
    cost = MoneyField()
    charged = MoneyField()
    discount = MoneyField()
    idle = MoneyField()
    over_recovery = MoneyField()
    rounding = MoneyField()
    reserved = MoneyField(help_text="Charged for time not delivered; beside the identity, not in it.")
    permille_seconds = QuantitiesSerializer(source="quantities")
