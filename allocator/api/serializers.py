"""Input and output of the allocator's doors."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from allocator.models.usage import ReviewState, UsageVerdict
from allocator.selectors.health import health_of
from plumbing.api.fields import Instant, TypedId
from vxpu.states import DeviceKind, Isolation, LeaseState, Quality


class ReadingSerializer(serializers.Serializer[Any]):
    value = serializers.IntegerField(allow_null=True, help_text="null is not readable, never zero.")
    at = serializers.DateTimeField(allow_null=True)
    quality = serializers.ChoiceField(choices=[(quality.value, quality.value) for quality in Quality])


class HealthMetricSerializer(ReadingSerializer):
    score = serializers.IntegerField(allow_null=True, help_text="0 to 100; null if the reading is unknown or stale.")


class HealthSerializer(serializers.Serializer[Any]):
    score = serializers.IntegerField(allow_null=True, help_text="The worst of the metrics'; null if nothing tells.")
    metrics = serializers.DictField(child=HealthMetricSerializer())


class CardLinkSerializer(serializers.Serializer[Any]):
    peer = serializers.CharField(help_text="UUID of the other card.")
    nvlinks = serializers.IntegerField(allow_null=True, help_text="Active connections; null is not readable.")
    pcie = serializers.CharField(allow_null=True, help_text="Nearest common point on PCIe; null is not readable.")


class MigSerializer(serializers.Serializer[Any]):
    enabled = serializers.BooleanField()
    pending = serializers.BooleanField(help_text="What holds after the next reset of the card.")


class CardSerializer(serializers.Serializer[Any]):
    uuid = serializers.CharField()
    pci_bus_id = serializers.CharField(help_text="Empty if not readable.")
    driver_version = serializers.CharField(help_text="Empty if not readable.")
    cuda_version = serializers.CharField(help_text="Empty if not readable.")
    links = CardLinkSerializer(many=True)
    mig = MigSerializer(allow_null=True, help_text="null: the card cannot be cut.")


class DeviceSerializer(serializers.Serializer[Any]):
    """`context` holds `now`: whether a reading is stale is a matter of time."""

    id = TypedId("dev")
    node = TypedId("nod", source="node_id")
    key = serializers.CharField()
    kind = serializers.ChoiceField(choices=[(kind.value, kind.value) for kind in DeviceKind])
    model = serializers.CharField()
    vendor = serializers.CharField()
    simulated = serializers.BooleanField()
    compute_units = serializers.IntegerField()
    capacity_mib = serializers.IntegerField()
    capacity_permille = serializers.IntegerField()
    isolation = serializers.ChoiceField(choices=[(mode.value, mode.value) for mode in Isolation])
    isolation_detail = serializers.CharField()
    online = serializers.BooleanField()
    readings = serializers.DictField(child=ReadingSerializer())
    memory_mib = serializers.IntegerField(help_text="Physical; `capacity_mib` of it can be sold.")
    node_hostname = serializers.CharField()
    rack = serializers.CharField(help_text="Empty if nobody said.")
    cordoned = serializers.BooleanField(help_text="Nothing new is booked on it.")
    card = CardSerializer(allow_null=True, help_text="What only an NVIDIA card has.")
    health = serializers.SerializerMethodField()

    @extend_schema_field(HealthSerializer)
    def get_health(self, device: Any) -> dict[str, Any]:
        found = health_of(device.readings, now=self.context["now"])
        return dict(HealthSerializer(found).data)


class SliceSerializer(serializers.Serializer[Any]):
    memory_mib = serializers.IntegerField()
    share_permille = serializers.IntegerField()


class LeaseSerializer(serializers.Serializer[Any]):
    id = TypedId("lse")
    device = TypedId("dev", source="device_id")
    node = TypedId("nod", source="node_id")
    state = serializers.ChoiceField(choices=[(state.value, state.value) for state in LeaseState])
    slice = SliceSerializer()
    starts_at = serializers.DateTimeField(source="period.starts_at")
    ends_at = serializers.DateTimeField(source="period.ends_at", allow_null=True)
    isolation = serializers.ChoiceField(choices=[(mode.value, mode.value) for mode in Isolation])
    ready_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    end_reason = serializers.CharField()
    version = serializers.IntegerField()


class LeaseTokenSerializer(serializers.Serializer[Any]):
    token = serializers.CharField(help_text="A JWT for the agent of the lease's node; at most 10 minutes.")


class WindowSerializer(serializers.Serializer[Any]):
    window_start = serializers.DateTimeField()
    window_s = serializers.IntegerField()
    granted_permille_s = serializers.IntegerField()
    used_permille_s = serializers.IntegerField(allow_null=True, help_text="null: the device cannot tell.")
    peak_mib = serializers.IntegerField(allow_null=True)
    throttled_ms = serializers.IntegerField(allow_null=True)
    contended = serializers.BooleanField()
    state = serializers.ChoiceField(choices=[(state.value, state.value) for state in LeaseState])


class UsageSerializer(serializers.Serializer[Any]):
    lease = TypedId("lse", source="lease_id")
    windows_counted = serializers.IntegerField()
    used_permille_s = serializers.IntegerField(allow_null=True, help_text="null: the device cannot tell.")
    granted_permille_s = serializers.IntegerField()
    peak_mib = serializers.IntegerField(allow_null=True)
    seqs_missing = serializers.IntegerField(help_text="Windows that the agent made and that never came.")
    quarantined = serializers.IntegerField()
    windows = WindowSerializer(many=True)


class CalendarQuery(serializers.Serializer[Any]):
    # `from` is a word of Python's, so the fields are declared by name.
    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {"from": Instant(), "to": Instant()}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["from"] >= attrs["to"]:
            raise serializers.ValidationError({"to": ["Must be later than `from`."]})
        return attrs


class TakenSerializer(serializers.Serializer[Any]):
    """Capacity that is taken; whose it is, is told to its tenant and to operators only."""

    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True)
    slice = SliceSerializer()
    whole = serializers.BooleanField()
    lease = serializers.SerializerMethodField()

    @extend_schema_field({"type": ["string", "null"], "example": "lse_01k2v7x9qefh8r8x5m3n1p0s4t"})
    def get_lease(self, piece: Any) -> str | None:
        shown: str | None = piece.lease
        return shown


class CalendarSerializer(serializers.Serializer[Any]):
    device = TypedId("dev", source="device_id")
    items = TakenSerializer(many=True)


class QuarantinedSerializer(serializers.Serializer[Any]):
    id = TypedId("qrn")
    node = TypedId("nod", source="node_id")
    lease = TypedId("lse", source="lease_id", allow_null=True)
    verdict = serializers.ChoiceField(choices=UsageVerdict.choices)
    reason = serializers.CharField()
    state = serializers.ChoiceField(choices=ReviewState.choices)
    received_at = serializers.DateTimeField()
    event = serializers.DictField(help_text="As sent.")


class ReleasedSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["accepted", "duplicate", "conflict"])
