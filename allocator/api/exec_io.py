"""Input and output of the doors to programs in a lease."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from plumbing.api.fields import StrictSerializer, TypedId

MOST_BYTES = 256 * 1024


class ExecIn(StrictSerializer):
    argv = serializers.ListField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False),
        min_length=1,
        max_length=4096,
        help_text="The program and its arguments; no shell reads them. At most 256 KiB together with `env`.",
    )
    env = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False), required=False, default=dict
    )

    def validate_argv(self, value: list[str]) -> list[str]:
        if not value[0]:
            raise serializers.ValidationError("The program has no name.")
        return value

    def validate_env(self, value: dict[str, str]) -> dict[str, str]:
        if len(value) > 512:
            raise serializers.ValidationError("At most 512 names.")
        if any(not name or "=" in name or "\0" in name for name in value):
            raise serializers.ValidationError("A name is not empty and holds neither '=' nor a NUL.")
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        words = [*attrs["argv"], *attrs["env"], *attrs["env"].values()]
        if sum(len(word.encode("utf-8", "surrogatepass")) + 1 for word in words) > MOST_BYTES:
            raise serializers.ValidationError({"argv": ["More than 256 KiB together with `env`."]})
        return attrs


class OpenedExecSerializer(serializers.Serializer[Any]):
    id = TypedId("exe")
    ticket = serializers.CharField(help_text="Opens the stream once, as its bearer token.")
    stream_url = serializers.CharField(help_text="A WebSocket; see docs/allocator.md. The program starts with it.")
    expires_at = serializers.DateTimeField()


class ExecSerializer(serializers.Serializer[Any]):
    id = TypedId("exe")
    argv = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    running = serializers.BooleanField()
    ended_at = serializers.DateTimeField(allow_null=True)
    code = serializers.IntegerField(allow_null=True, help_text="null while it runs, and where nobody saw its end.")
    platform = serializers.CharField(
        allow_null=True, help_text="Who ended it if not the program itself: released, expired, node_lost..."
    )


class ExecsSerializer(serializers.Serializer[Any]):
    items = ExecSerializer(many=True)


class OutputSerializer(serializers.Serializer[Any]):
    stream = serializers.ChoiceField(choices=["stdout", "stderr"])
    data = serializers.CharField(help_text="base64")  # type: ignore[assignment] # DRF takes it out of the class


class ExecLogSerializer(serializers.Serializer[Any]):
    exec = ExecSerializer()
    truncated = serializers.BooleanField(help_text="The beginning is not kept any more.")
    output = OutputSerializer(many=True)
