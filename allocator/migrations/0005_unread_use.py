"""A window whose use the device cannot tell: NULL, never 0. Expand only."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0004_maintenance")]
    operations: ClassVar = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE allocator_usagewindow ALTER COLUMN used_permille_s DROP NOT NULL",
                    migrations.RunSQL.noop,
                )
            ],
        ),
    ]
