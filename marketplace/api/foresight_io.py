"""Input and output of the forecast's and the simulations' doors."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from marketplace.api.fields import WholeNumber, nullable
from plumbing.api.fields import Instant, StrictSerializer, TypedId
from vxpu.foresight import TrialSpec

STATES = ("queued", "running", "done", "failed", "cancelled")


class MoreNodesIn(StrictSerializer):
    like = TypedId("nod", help_text="A node of today's fleet.")
    count = WholeNumber(help_text="So many more of it.")


class TrialIn(StrictSerializer):
    """What is left out is as it is today."""

    policy = nullable(serializers.CharField, max_length=32, help_text="By name; null: the one in use.")
    whole_cards = serializers.BooleanField(required=False, default=False, help_text="Each slice takes a whole device.")
    moves = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=64, help_text="Moves allowed for a request that is refused."
    )
    remove_nodes = serializers.ListField(child=TypedId("nod"), required=False, default=list, max_length=2000)
    add_nodes = MoreNodesIn(many=True, required=False, default=list)


class SimulationIn(StrictSerializer):
    """Past requests of [from, to), served again. Today's policy and fleet are always the first trial."""

    # `from` is a word of Python's, so the fields are declared by name.
    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        week = "A week before `to` if left out."
        return {
            "from": nullable(Instant, help_text=week),
            "to": nullable(Instant, help_text="Now if left out."),
            "trials": TrialIn(many=True, required=False, default=list, help_text="At most 8."),
        }


def spec_of(trial: dict[str, Any]) -> TrialSpec:
    return TrialSpec(
        policy=trial["policy"], whole_cards=trial["whole_cards"], moves=trial["moves"],
        remove_nodes=tuple(trial["remove_nodes"]),
        add_nodes=tuple((more["like"], more["count"]) for more in trial["add_nodes"]),
    )  # fmt: skip


class OutcomeSerializer(serializers.Serializer[Any]):
    """Shares in permille, waits in seconds."""

    requests = serializers.IntegerField()
    placed = serializers.IntegerField()
    refused = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="By reason: impossible, full, scattered, not_together, host.",
    )
    waiting = serializers.IntegerField(help_text="Still in the queue at the end.")
    wait_p50_s = serializers.SerializerMethodField(help_text="Of all that were placed, at once or later.")
    wait_p90_s = serializers.SerializerMethodField()
    used_permille = serializers.IntegerField(source="used", help_text="What was asked for and placed, of the compute.")
    taken_permille = serializers.IntegerField(source="taken", help_text="What that kept from others.")
    stranded_permille = serializers.IntegerField(
        source="stranded", help_text="Of the free compute, what lies on devices in part use; mean over the arrivals."
    )
    moves = serializers.IntegerField()

    @extend_schema_field({"type": "integer"})
    def get_wait_p50_s(self, outcome: dict[str, Any]) -> int:
        return int(outcome["wait_p50"]) // 1_000_000

    @extend_schema_field({"type": "integer"})
    def get_wait_p90_s(self, outcome: dict[str, Any]) -> int:
        return int(outcome["wait_p90"]) // 1_000_000


class MoreNodesSerializer(serializers.Serializer[Any]):
    like = TypedId("nod")
    count = serializers.IntegerField()


class TrialSerializer(serializers.Serializer[Any]):
    policy = serializers.CharField(allow_null=True, source="spec.policy")
    whole_cards = serializers.BooleanField(source="spec.whole_cards")
    moves = serializers.IntegerField(source="spec.moves")
    remove_nodes = serializers.ListField(child=TypedId("nod"), source="spec.remove_nodes")
    add_nodes = serializers.SerializerMethodField()
    outcome = OutcomeSerializer(allow_null=True, help_text="null until it is done.")

    @extend_schema_field(MoreNodesSerializer(many=True))
    def get_add_nodes(self, trial: Any) -> list[dict[str, Any]]:
        more = [{"like": like, "count": count} for like, count in trial.spec.add_nodes]
        return [dict(one) for one in MoreNodesSerializer(more, many=True).data]


class SimulationSerializer(serializers.Serializer[Any]):
    id = TypedId("sim")
    state = serializers.ChoiceField(choices=[(state, state) for state in STATES])
    from_at = serializers.DateTimeField()
    to_at = serializers.DateTimeField()
    started_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    progress_permille = serializers.IntegerField()
    error = serializers.CharField(help_text="Why it failed; empty if it did not.")
    trials = TrialSerializer(many=True, help_text="The first is today's policy and fleet.")


class SimulationsSerializer(serializers.Serializer[Any]):
    items = SimulationSerializer(many=True)


class ForecastQuery(serializers.Serializer[Any]):
    hours = serializers.IntegerField(required=False, default=24, min_value=1, max_value=168)
    risk_permille = serializers.IntegerField(
        required=False, default=50, min_value=0, max_value=1000,
        help_text="`spot`: in at most so many of a thousand hours it is taken back.",
    )  # fmt: skip


class DemandSerializer(serializers.Serializer[Any]):
    """Compute in thousandths of a device, the mean of each hour."""

    pool = serializers.CharField(help_text="Empty: nodes without a pool.")
    kind = serializers.CharField()
    hours = serializers.IntegerField(help_text="Of history.")
    model = serializers.CharField(help_text="The one with the lowest error in back-tests.")
    is_tested = serializers.BooleanField(help_text="No: the history is too short, and the values promise nothing.")
    mae = serializers.FloatField(allow_null=True)
    mase = serializers.FloatField(allow_null=True, help_text="Below 1 is better than last week's same hour.")
    baseline_mae = serializers.FloatField(allow_null=True, help_text="Of the seasonal naive forecast.")
    capacity_permille = serializers.IntegerField()
    starts_at = serializers.DateTimeField()
    values = serializers.ListField(child=serializers.IntegerField())
    spot = serializers.ListField(child=serializers.IntegerField(), help_text="What could be sold as spot.")


class ForecastSerializer(serializers.Serializer[Any]):
    items = DemandSerializer(many=True)
