"""Input and output of identity's doors."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from identity.models.member import SCOPES, Role
from plumbing.api.fields import Instant, StrictSerializer, TypedId

SLUG = r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$"


class TenantIn(StrictSerializer):
    name = serializers.CharField(max_length=120)
    slug = serializers.RegexField(SLUG, help_text="1 to 63 of a-z, 0-9 and -, not at either end.")
    admin_email = serializers.EmailField()
    admin_name = serializers.CharField(max_length=120)


class TenantSerializer(serializers.Serializer[Any]):
    id = TypedId("ten")
    name = serializers.CharField()
    slug = serializers.CharField()
    created_at = serializers.DateTimeField()


class TokenSerializer(serializers.Serializer[Any]):
    id = TypedId("tok")
    user = TypedId("usr", source="user_id")
    name = serializers.CharField()
    hint = serializers.CharField(help_text="The first characters, to tell tokens apart.")
    scopes = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute.")
    revoked_at = serializers.DateTimeField(allow_null=True)


class NewTokenSerializer(serializers.Serializer[Any]):
    """A token and, this once, its secret."""

    token = TokenSerializer()
    secret = serializers.CharField(help_text="vxp_pat_...; shown this once and kept nowhere.")


class UserSerializer(serializers.Serializer[Any]):
    id = TypedId("usr")
    email = serializers.EmailField()
    name = serializers.CharField()


class NewTenantSerializer(serializers.Serializer[Any]):
    tenant = TenantSerializer()
    admin = UserSerializer()
    token = NewTokenSerializer()


class ProjectIn(StrictSerializer):
    name = serializers.CharField(max_length=120)
    slug = serializers.RegexField(SLUG, help_text="1 to 63 of a-z, 0-9 and -, not at either end.")


class ProjectSerializer(serializers.Serializer[Any]):
    id = TypedId("prj")
    name = serializers.CharField()
    slug = serializers.CharField()
    created_at = serializers.DateTimeField()


class MemberIn(StrictSerializer):
    email = serializers.EmailField()
    name = serializers.CharField(max_length=120)
    role = serializers.ChoiceField(Role.choices)
    project = TypedId("prj", required=False, allow_null=True, default=None)


class MemberSerializer(serializers.Serializer[Any]):
    id = TypedId("mem")
    user = UserSerializer()
    role = serializers.ChoiceField(Role.choices)
    project = TypedId("prj", source="project_id", allow_null=True)
    created_at = serializers.DateTimeField()


class NewMemberSerializer(MemberSerializer):
    """`first_token` is there for a user who was made with this request."""

    first_token = NewTokenSerializer(allow_null=True)

    def to_representation(self, made: Any) -> dict[str, Any]:
        token = NewTokenSerializer(made.first_token).data if made.first_token else None
        return {**MemberSerializer(made.member).data, "first_token": token}


class TokenIn(StrictSerializer):
    name = serializers.CharField(max_length=120)
    scopes = serializers.ListField(child=serializers.ChoiceField(SCOPES), min_length=1, max_length=len(SCOPES))
    expires_at = Instant(help_text="At most a year from now.")
    user = TypedId("usr", required=False, allow_null=True, default=None, help_text="Another user; tenant admins only.")


class AuditEventSerializer(serializers.Serializer[Any]):
    id = TypedId("aud")
    seq = serializers.IntegerField()
    at = serializers.DateTimeField(source="created_at")
    actor = TypedId("usr", source="actor_id", allow_null=True)
    action = serializers.CharField()
    subject = serializers.CharField()
    details = serializers.JSONField(source="data")
    digest = serializers.SerializerMethodField()

    def get_digest(self, event: Any) -> str:
        return bytes(event.digest).hex()
