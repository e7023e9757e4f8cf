"""Indexes that others cover, or that nothing asks: each was written anew at each step of a reservation's life."""

from __future__ import annotations

from typing import Any, ClassVar

import django.db.models.deletion
from django.db import migrations, models

DROP = """
DROP INDEX marketplace_placement_tenant_id_5ef6a50b;
DROP INDEX marketplace_reservation_tenant_id_3f4c7c52;
DROP INDEX marketplace_reservation_offer_id_4cb4d73b;
DROP INDEX marketplace_reservation_price_id_505c6ca7;
DROP INDEX marketplace_reservation_gang_id_da12d2c2;
DROP INDEX marketplace_reservation_event_tenant_id_187e6c2d;
DROP INDEX marketplace_reservation_event_reservation_id_bcbf884d;
"""


def _kept(to: str, **more: Any) -> models.ForeignKey[Any, Any]:
    return models.ForeignKey(to=to, on_delete=django.db.models.deletion.PROTECT, db_index=False, **more)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("marketplace", "0011_transitions_by_set")]
    operations: ClassVar = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(DROP, reverse_sql=migrations.RunSQL.noop)],
            state_operations=[
                migrations.AlterField("placement", "tenant_id", models.UUIDField()),
                migrations.AlterField("reservation", "tenant_id", models.UUIDField()),
                migrations.AlterField("reservation", "offer", _kept("marketplace.offer", null=True, blank=True)),
                migrations.AlterField("reservation", "price", _kept("marketplace.price", null=True, blank=True)),
                migrations.AlterField(
                    "reservation",
                    "gang",
                    _kept("marketplace.gang", null=True, blank=True, related_name="reservations"),
                ),
                migrations.AlterField("reservationevent", "tenant_id", models.UUIDField()),
                migrations.AlterField(
                    "reservationevent", "reservation", _kept("marketplace.reservation", related_name="events")
                ),
            ],
        )
    ]
