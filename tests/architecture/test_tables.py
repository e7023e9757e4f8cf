"""Every table that belongs to a tenant carries row-level security, and the running role cannot turn it off."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection

TABLE_ROOMS = ("marketplace", "billing", "allocator", "identity")


@pytest.mark.django_db
def test_every_tenant_table_has_row_level_security() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT relname FROM pg_class JOIN pg_policy ON polrelid = pg_class.oid WHERE relrowsecurity"
        )
        secured = {name for (name,) in cursor.fetchall()}
    bare = [
        model._meta.db_table
        for room in TABLE_ROOMS
        for model in apps.get_app_config(room).get_models()
        if model._meta.managed and model._meta.db_table not in secured
    ]
    assert bare == []


@pytest.mark.django_db
def test_the_application_role_is_neither_owner_nor_superuser() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False, False, False)
        cursor.execute(
            "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'p') AND relowner = "
            "(SELECT oid FROM pg_roles WHERE rolname = current_user)"
        )
        assert cursor.fetchone() == (0,)


@pytest.mark.django_db
def test_every_tenant_model_names_its_tenant() -> None:
    nameless = [
        model._meta.label
        for room in TABLE_ROOMS
        for model in apps.get_app_config(room).get_models()
        if model._meta.managed
        and "tenant_id" not in {field.attname for field in model._meta.concrete_fields}
        and model._meta.label != "identity.Tenant"
    ]
    assert nameless == []
