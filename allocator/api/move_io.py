"""Input and output of the doors of moves."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from allocator.models.relocation import MovePlanKind, MovePlanState, RelocationState
from plumbing.api.fields import StrictSerializer, TypedId
from vxpu.states import DeviceKind


class MovePlanIn(StrictSerializer):
    """One lease to one device."""

    lease = TypedId("lse")
    device = TypedId("dev")
    reason = serializers.CharField(max_length=200)


class CancelPlanIn(StrictSerializer):
    reason = serializers.CharField(max_length=200)


class RoomIn(StrictSerializer):
    """What room would be made for: `count` such slices on one node, each on a device of its own."""

    memory_mib = serializers.IntegerField(min_value=1, max_value=2**31)
    share_permille = serializers.IntegerField(min_value=1, max_value=1000)
    whole = serializers.BooleanField(required=False, default=False, help_text="Whole devices, whatever the slice says.")
    count = serializers.IntegerField(min_value=1, max_value=64, required=False, default=1)
    device_kind = serializers.ChoiceField(
        [kind.value for kind in DeviceKind], required=False, default=None, allow_null=True
    )
    pool = serializers.CharField(max_length=64, required=False, default=None, allow_null=True)
    hours = serializers.IntegerField(
        min_value=1,
        max_value=24 * 366,
        required=False,
        default=None,
        allow_null=True,
        help_text="From now; none: open-ended.",
    )
    moves = serializers.IntegerField(min_value=1, max_value=64, required=False, default=8, help_text="At most so many.")


class PlannedMoveSerializer(serializers.Serializer[Any]):
    lease = TypedId("lse", source="lease_id")
    owner = serializers.UUIDField(help_text="What the lease is for: a reservation's key. Names are not known here.")
    tenant = TypedId("ten", source="tenant_id")
    from_device = TypedId("dev")
    to_device = TypedId("dev")
    cost_mib = serializers.IntegerField(help_text="State to move: the most that was measured, else all it may have.")


class RoomPreviewSerializer(serializers.Serializer[Any]):
    """Nothing was moved. Without moves `reason` says why there is no plan."""

    moves = PlannedMoveSerializer(many=True)
    devices = serializers.ListField(child=TypedId("dev"), help_text="Where the wish would be.")
    cost_mib = serializers.IntegerField()
    reason = serializers.CharField()


class MoveSerializer(PlannedMoveSerializer):
    id = TypedId("mov")
    state = serializers.ChoiceField(choices=RelocationState.choices)
    successor = TypedId("lse", source="successor_id", allow_null=True)
    hook_deadline = serializers.DateTimeField(allow_null=True)
    hook_result = serializers.CharField(help_text="ok, failed, timeout, none, silent; empty until it is known.")
    hook_detail = serializers.CharField()
    switched_at = serializers.DateTimeField(
        allow_null=True, help_text="From then on the new lease is delivered, until then the old one."
    )
    ended_at = serializers.DateTimeField(allow_null=True)
    end_reason = serializers.CharField()


class MovePlanSerializer(serializers.Serializer[Any]):
    id = TypedId("mpl")
    kind = serializers.ChoiceField(choices=MovePlanKind.choices)
    state = serializers.ChoiceField(choices=MovePlanState.choices)
    reason = serializers.CharField()
    started_by = serializers.CharField()
    node = TypedId("nod", source="node_id", allow_null=True, help_text="What is emptied.")
    owners = serializers.ListField(child=serializers.UUIDField(), help_text="Whom room is made for.")
    moves_total = serializers.IntegerField()
    moves_done = serializers.IntegerField(help_text="Switched, or done.")
    moves_failed = serializers.IntegerField(help_text="Failed or cancelled: those leases are where they were.")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    end_reason = serializers.CharField()


class MovePlanDetailSerializer(MovePlanSerializer):
    moves = MoveSerializer(many=True)
