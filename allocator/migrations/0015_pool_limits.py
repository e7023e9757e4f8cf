"""Limits of moves by pool; null is the server's setting."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0014_cut_cards")]
    operations: ClassVar = [
        migrations.AddField("pool", "room_moves", models.PositiveSmallIntegerField(null=True, blank=True, default=None)),
        migrations.AddField(
            "pool", "moves_per_tenant_day", models.PositiveSmallIntegerField(null=True, blank=True, default=None)
        ),
    ]
