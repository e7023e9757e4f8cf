"""Input and output of the doors of nodes and of the fleet."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from allocator.api.serializers import SliceSerializer
from allocator.models.maintenance import DrainState
from allocator.models.node import NodeState
from allocator.selectors.staying import STAYS
from plumbing.api.fields import Instant, StrictSerializer, TypedId
from vxpu.market import LeaseView
from vxpu.states import DeviceKind, LeaseState


class EnrolmentIn(StrictSerializer):
    note = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    node = TypedId("nod", required=False, default=None, allow_null=True, help_text="To give that node a new key.")


class EnrolmentSerializer(serializers.Serializer[Any]):
    id = TypedId("enr")
    one_time_token = serializers.CharField(help_text="Shown this once; good for one enrolment.")
    expires_at = serializers.DateTimeField()
    command = serializers.CharField(help_text="One line to paste on the machine.")


class DrainSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=DrainState.choices)
    started_at = serializers.DateTimeField(allow_null=True, help_text="Lies ahead while `planned`.")
    drained_at = serializers.DateTimeField(allow_null=True, help_text="When the last lease was gone.")
    reason = serializers.CharField()
    started_by = serializers.CharField()


class NodeSerializer(serializers.Serializer[Any]):
    id = TypedId("nod")
    hostname = serializers.CharField()
    rack = serializers.CharField(help_text="Empty if nobody said.")
    pool = serializers.CharField(help_text="Empty: none, it is filled by the server's default policy.")
    site = serializers.CharField(help_text="Empty if nobody said.")
    host_cores_milli = serializers.IntegerField(
        allow_null=True, help_text="Of the host, for sale beside the devices; null: the agent does not say."
    )
    host_mib = serializers.IntegerField(allow_null=True)
    agent_version = serializers.CharField()
    state = serializers.ChoiceField(choices=NodeState.choices)
    online = serializers.BooleanField(source="is_online")
    last_seen_at = serializers.DateTimeField(allow_null=True)
    clock_offset_ms = serializers.IntegerField(allow_null=True, help_text="The agent's clock less ours.")
    created_at = serializers.DateTimeField()
    cordoned = serializers.BooleanField(help_text="Nothing new is booked on it.")
    standby = serializers.BooleanField(help_text="It takes nothing but what other nodes lost.")
    settling_since = serializers.DateTimeField(
        allow_null=True, help_text="Set while it ends what was given up; nothing new is booked until it has."
    )
    drain = DrainSerializer()
    device_count = serializers.IntegerField()
    lease_count = serializers.IntegerField(help_text="What takes capacity: running and booked.")


class NodePatchIn(StrictSerializer):
    """What is left out stays as it is."""

    rack = serializers.CharField(max_length=64, allow_blank=True, required=False)
    pool = serializers.CharField(max_length=64, allow_null=True, required=False, help_text="Its name; null is none.")
    site = serializers.CharField(max_length=64, allow_null=True, required=False, help_text="Its name; null is none.")
    standby = serializers.BooleanField(
        required=False, help_text="Keep it for what other nodes lose: no ordinary booking, filled first by fail-over."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Say what is to change.")
        return attrs


class ReasonIn(StrictSerializer):
    reason = serializers.CharField(max_length=200)


class CordonIn(StrictSerializer):
    reason = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)


class DrainIn(ReasonIn):
    at = Instant(required=False, default=None, allow_null=True, help_text="Now if absent.")
    move = serializers.BooleanField(
        required=False, help_text="Move what runs there and can go elsewhere; the rest stays to its end."
    )


class ImpactQuery(serializers.Serializer[Any]):
    at = Instant(required=False, default=None, allow_null=True)


class AffectedLeaseSerializer(serializers.Serializer[Any]):
    lease = TypedId("lse", source="id")
    owner = serializers.UUIDField(help_text="What the lease is for: a reservation's key. Names are not known here.")
    tenant = TypedId("ten", source="tenant_id")
    device = TypedId("dev", source="device_id")
    state = serializers.ChoiceField(choices=[(state.value, state.value) for state in LeaseState])
    slice = SliceSerializer()
    starts_at = serializers.DateTimeField(source="period.starts_at")
    ends_at = serializers.DateTimeField(source="period.ends_at", allow_null=True)
    stays = serializers.SerializerMethodField()

    @extend_schema_field(
        {
            "oneOf": [{"type": "string", "enum": list(STAYS)}, {"type": "null"}],
            "description": "Why a drain with moves would leave it here; null: it would be moved, or it has not begun.",
        }
    )
    def get_stays(self, lease: LeaseView) -> str | None:
        found: str = self.context["stays"].get(lease.id, "")
        return found or None


class ImpactSerializer(serializers.Serializer[Any]):
    node = TypedId("nod", source="node_id")
    at = serializers.DateTimeField()
    leases = AffectedLeaseSerializer(many=True, source="running")
    reservations_future = AffectedLeaseSerializer(many=True, source="booked")
    affected_tenants = serializers.IntegerField()


class NodeEventSerializer(serializers.Serializer[Any]):
    id = TypedId("nev")
    node = TypedId("nod", source="node_id")
    hostname = serializers.CharField()
    kind = serializers.CharField()
    actor = serializers.CharField()
    reason = serializers.CharField()
    at = serializers.DateTimeField()


class FleetNodeSerializer(serializers.Serializer[Any]):
    id = TypedId("nod")
    hostname = serializers.CharField()
    rack = serializers.CharField()
    state = serializers.ChoiceField(choices=NodeState.choices)
    online = serializers.BooleanField()
    last_seen_at = serializers.DateTimeField(allow_null=True)
    cordoned = serializers.BooleanField()
    standby = serializers.BooleanField()
    drain = serializers.ChoiceField(choices=DrainState.choices)


class FleetSliceSerializer(serializers.Serializer[Any]):
    memory_mib = serializers.IntegerField()
    share_permille = serializers.IntegerField()
    use_permille = serializers.IntegerField(
        allow_null=True, help_text="Of the device, over the newest metered window; null is unknown."
    )
    mine = serializers.BooleanField()
    lease = serializers.CharField(allow_null=True, help_text="Named to its own tenant and to operators.")
    state = serializers.ChoiceField(choices=[(state.value, state.value) for state in LeaseState])


def _column(field: type[serializers.Field[Any, Any, Any, Any]], **kwargs: Any) -> Any:
    return serializers.ListField(child=field(**kwargs))


class FleetDevicesSerializer(serializers.Serializer[Any]):
    """Columns: the same index is the same device."""

    id = serializers.ListField(child=TypedId("dev"))
    node = serializers.ListField(child=serializers.IntegerField(), help_text="Index in `nodes`.")
    model = _column(serializers.CharField)
    kind = _column(serializers.ChoiceField, choices=[(kind.value, kind.value) for kind in DeviceKind])
    simulated = _column(serializers.BooleanField)
    capacity_mib = _column(serializers.IntegerField)
    capacity_permille = _column(serializers.IntegerField)
    present = _column(serializers.BooleanField)
    health = _column(serializers.IntegerField, allow_null=True)
    use_permille = _column(serializers.IntegerField, allow_null=True)
    temperature_c = _column(serializers.IntegerField, allow_null=True)
    power_w = _column(serializers.IntegerField, allow_null=True)
    read_at = _column(serializers.DateTimeField, allow_null=True)
    slices = serializers.ListField(child=FleetSliceSerializer(many=True))


class FleetSerializer(serializers.Serializer[Any]):
    as_of = serializers.DateTimeField()
    stale_after_s = serializers.IntegerField(help_text="A device that was read longer ago has no readings here.")
    racks = serializers.ListField(child=serializers.CharField(allow_blank=True))
    nodes = FleetNodeSerializer(many=True)
    devices = FleetDevicesSerializer()
