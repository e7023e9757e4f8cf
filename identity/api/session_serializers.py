"""Input and output of the log-in's doors."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from identity.api.serializers import ProjectSerializer, UserSerializer
from identity.models.member import SCOPES, Role
from identity.services import passwords
from plumbing.api.fields import StrictSerializer, TypedId


def password_field(**kwargs: Any) -> serializers.CharField:
    """As typed: spaces at the ends count."""
    return serializers.CharField(max_length=passwords.LONGEST, trim_whitespace=False, write_only=True, **kwargs)


class LoginIn(StrictSerializer):
    """Address and password, or a personal token."""

    email = serializers.EmailField(required=False)
    password = password_field(required=False)
    token = serializers.CharField(max_length=200, required=False, write_only=True, help_text="vxp_pat_...")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if set(attrs) not in ({"email", "password"}, {"token"}):
            raise serializers.ValidationError("Send `email` and `password`, or `token` alone.", "login_incomplete")
        return attrs


class LoginSerializer(serializers.Serializer[Any]):
    user = UserSerializer()
    expires_at = serializers.DateTimeField()


class SessionSerializer(serializers.Serializer[Any]):
    id = TypedId("ses")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    is_current = serializers.SerializerMethodField()
    token = TypedId("tok", source="token_id", allow_null=True, help_text="The token it was opened with.")
    address = serializers.CharField(allow_null=True, help_text="Where the log-in came from.")
    client = serializers.CharField(help_text="What the browser calls itself.")

    def get_is_current(self, session: Any) -> bool:
        return bool(session.pk == self.context["current"])


class PasswordIn(StrictSerializer):
    current = password_field(required=False, allow_null=True, default=None, help_text="Leave out for the first one.")
    new = password_field()


class TenantOfMeSerializer(serializers.Serializer[Any]):
    id = TypedId("ten")
    name = serializers.CharField()
    slug = serializers.CharField()


class MeSerializer(serializers.Serializer[Any]):
    user = TypedId("usr", source="principal.user_id")
    name = serializers.CharField(source="principal.name")
    email = serializers.EmailField()
    tenant = TenantOfMeSerializer()
    projects = ProjectSerializer(many=True, help_text="Those that the caller acts in.")
    roles = serializers.ListField(child=serializers.ChoiceField(Role.choices))
    scopes = serializers.ListField(child=serializers.ChoiceField(SCOPES))
    token = TypedId("tok", source="principal.token_id", allow_null=True)
    session = TypedId("ses", source="principal.session_id", allow_null=True)
    has_password = serializers.BooleanField()
    is_operator = serializers.BooleanField(source="principal.is_operator")
