"""Indexes of the buckets to rate that `dirty_hour_once` covers, or that nothing asks."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

DROP = """
DROP INDEX allocator_dirtyhour_tenant_id_b3738ab3;
DROP INDEX allocator_dirtyhour_lease_id_d9512840;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0016_batches")]
    operations: ClassVar = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(DROP, reverse_sql=migrations.RunSQL.noop)],
            state_operations=[
                migrations.AlterField("dirtyhour", "tenant_id", models.UUIDField()),
                migrations.AlterField(
                    "dirtyhour",
                    "lease",
                    models.ForeignKey(
                        to="allocator.lease", on_delete=django.db.models.deletion.PROTECT, db_index=False,
                        related_name="dirty_hours",
                    ),
                ),
            ],
        )
    ]  # fmt: skip
