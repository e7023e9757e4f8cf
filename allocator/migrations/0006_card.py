"""What only an NVIDIA card has. A column with a default that the old code does not write. Expand only."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0005_unread_use")]
    operations: ClassVar = [
        migrations.AddField(
            model_name="device",
            name="card",
            field=models.JSONField(blank=True, default=None, null=True),
        ),
    ]
