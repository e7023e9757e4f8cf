"""Scaling rules, signals and decisions, in and out."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from marketplace.api.fields import WholeNumber, nullable
from marketplace.api.inputs import SliceIn
from marketplace.api.serializers import SliceSerializer
from marketplace.models import ScaleDecision, ScaleKind, ScaleOutcome, ScaleRule
from plumbing.api.fields import StrictSerializer, TypedId

CLOCK = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
CLOCK_END = rf"{CLOCK[:-1]}$|^24:00$"
SIGNALS = ["queue_depth", "throttle"]
MOST = 2**53


class WindowIn(StrictSerializer):
    """Clock times of the zone; a `to` that is not later than `from` is on the next day."""

    days = serializers.ListField(child=WholeNumber(min_value=0, max_value=6), min_length=1, max_length=7)
    to = serializers.RegexField(CLOCK_END)
    slice = SliceIn()

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python's."""
        return {**super().get_fields(), "from": serializers.RegexField(CLOCK)}


class ScheduleIn(StrictSerializer):
    zone = serializers.CharField(
        required=False, allow_blank=True, max_length=64, help_text="IANA name; the account's own if left out."
    )
    windows = serializers.ListField(child=WindowIn(), max_length=32, help_text="The first that holds says the size.")
    otherwise = SliceIn()


class LoadIn(StrictSerializer):
    """A step up above `grow_at`, a step down below `shrink_at`, and between them nothing."""

    signal = serializers.ChoiceField(
        SIGNALS, help_text="queue_depth as told; throttle: how much of the time the slice was held back, in permille."
    )
    grow_at = WholeNumber(min_value=0, max_value=MOST)
    shrink_at = WholeNumber(min_value=0, max_value=MOST)
    step = SliceIn()


class EpochStepIn(StrictSerializer):
    epoch = WholeNumber(min_value=0, max_value=MOST)
    slice = SliceIn()


class ProgressIn(StrictSerializer):
    """From each epoch on its size."""

    steps = serializers.ListField(child=EpochStepIn(), min_length=1, max_length=100)


class ScaleRuleIn(StrictSerializer):
    """Of the three parts the one that `kind` names. The size never leaves [min, max]."""

    kind = serializers.ChoiceField(ScaleKind.choices)
    enabled = nullable(serializers.BooleanField, help_text="Yes, if left out.")
    min = SliceIn()
    max = SliceIn()
    cool_down_s = WholeNumber(min_value=0, max_value=7 * 86_400, help_text="At most one change in this time.")
    schedule = nullable(ScheduleIn)
    load = nullable(LoadIn)
    progress = nullable(ProgressIn)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        beside = [str(kind) for kind in ScaleKind if attrs[str(kind)] is not None and kind != attrs["kind"]]
        if beside:
            said = serializers.ErrorDetail("It is no part of a rule of this kind.", "other_kind")
            raise serializers.ValidationError({name: [said] for name in beside})
        return {**attrs, "enabled": attrs["enabled"] is not False}


class SignalIn(StrictSerializer):
    """What the work says of itself. What is left out is not changed."""

    queue_depth = nullable(WholeNumber, min_value=0, max_value=MOST, help_text="How much waits.")
    epoch = nullable(WholeNumber, min_value=0, max_value=MOST, help_text="How far it is.")
    checkpointed = nullable(serializers.BooleanField, help_text="It saved its work just now.")


class ScaleRuleSerializer(serializers.Serializer[Any]):
    id = TypedId("scr")
    kind = serializers.ChoiceField(ScaleKind.choices)
    enabled = serializers.BooleanField(source="is_enabled")
    min = serializers.SerializerMethodField()
    max = serializers.SerializerMethodField()
    cool_down_s = serializers.IntegerField()
    schedule = serializers.SerializerMethodField()
    load = serializers.SerializerMethodField()
    progress = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()

    @extend_schema_field(SliceSerializer)
    def get_min(self, row: ScaleRule) -> dict[str, int]:
        return {"share_permille": row.min_permille, "memory_mib": row.min_mib}

    @extend_schema_field(SliceSerializer)
    def get_max(self, row: ScaleRule) -> dict[str, int]:
        return {"share_permille": row.max_permille, "memory_mib": row.max_mib}

    @extend_schema_field(ScheduleIn(allow_null=True))
    def get_schedule(self, row: ScaleRule) -> dict[str, Any] | None:
        return _part(row, ScaleKind.SCHEDULE)

    @extend_schema_field(LoadIn(allow_null=True))
    def get_load(self, row: ScaleRule) -> dict[str, Any] | None:
        return _part(row, ScaleKind.LOAD)

    @extend_schema_field(ProgressIn(allow_null=True))
    def get_progress(self, row: ScaleRule) -> dict[str, Any] | None:
        return _part(row, ScaleKind.PROGRESS)


def _part(row: ScaleRule, kind: ScaleKind) -> dict[str, Any] | None:
    return dict(row.definition) if row.kind == kind else None


class ScaleDecisionSerializer(serializers.Serializer[Any]):
    """`reason` is what the rule saw: schedule, load_high, load_low, epoch. `code` is that of the refusal, or empty."""

    id = TypedId("scd")
    rule = TypedId("scr", source="rule_id")
    kind = serializers.ChoiceField(ScaleKind.choices)
    outcome = serializers.ChoiceField(ScaleOutcome.choices)
    reason = serializers.CharField()
    code = serializers.CharField()
    before = serializers.SerializerMethodField()
    wanted = serializers.SerializerMethodField()
    at = serializers.DateTimeField()

    @extend_schema_field(SliceSerializer)
    def get_before(self, row: ScaleDecision) -> dict[str, int]:
        return {"share_permille": row.from_permille, "memory_mib": row.from_mib}

    @extend_schema_field(SliceSerializer)
    def get_wanted(self, row: ScaleDecision) -> dict[str, int]:
        return {"share_permille": row.to_permille, "memory_mib": row.to_mib}
