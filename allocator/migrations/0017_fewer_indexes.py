"""Indexes that others cover, or that nothing asks: each was written anew at each step of a lease's life."""

from __future__ import annotations

from typing import Any, ClassVar

import django.db.models.deletion
from django.db import migrations, models

DROP = """
DROP INDEX allocator_dirtyhour_tenant_id_b3738ab3;
DROP INDEX allocator_dirtyhour_lease_id_d9512840;
DROP INDEX allocator_lease_device_id_8a0bfe12;
DROP INDEX allocator_lease_node_id_5b51db83;
DROP INDEX allocator_leaseoutage_tenant_id_8585266f;
DROP INDEX allocator_segment_tenant_id_59e0f5b5;
"""


def _kept(to: str, name: str) -> models.ForeignKey[Any, Any]:
    return models.ForeignKey(
        to=to, on_delete=django.db.models.deletion.PROTECT, db_index=False, related_name=name
    )  # fmt: skip


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0016_batches")]
    operations: ClassVar = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(DROP, reverse_sql=migrations.RunSQL.noop)],
            state_operations=[
                migrations.AlterField("dirtyhour", "tenant_id", models.UUIDField()),
                migrations.AlterField("dirtyhour", "lease", _kept("allocator.lease", "dirty_hours")),
                migrations.AlterField("lease", "device", _kept("allocator.device", "leases")),
                migrations.AlterField("lease", "node", _kept("allocator.node", "leases")),
                migrations.AlterField("leaseoutage", "tenant_id", models.UUIDField()),
                migrations.AlterField("segment", "tenant_id", models.UUIDField()),
            ],
        )
    ]
