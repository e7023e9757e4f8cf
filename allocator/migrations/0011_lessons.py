"""What the default policy learns from, and what it has learned: the whole of a wish stays with its lease."""

from __future__ import annotations

from importlib import import_module

import django.utils.timezone
from django.db import migrations, models

import vxpu.ids

from plumbing.rowsec import EnableRowSecurity

_GUARDS = import_module("allocator.migrations.0009_vector_guards")
_OLD = "uuid, uuid, uuid, uuid, uuid, integer, bigint, tstzrange, boolean, timestamptz, timestamptz"
BOOK = (
    _GUARDS.BOOK.replace(f"{_OLD});", f"{_OLD}, integer, bigint, bigint, int4range);")
    .replace("p_slots int4range DEFAULT NULL,", "p_slots int4range DEFAULT NULL, p_wanted jsonb DEFAULT NULL,")
    .replace("starts_at, ends_at, hold_until, end_reason)", "starts_at, ends_at, hold_until, end_reason, wanted)")
    .replace("lower(p_period), upper(p_period), p_hold_until, '');",
             "lower(p_period), upper(p_period), p_hold_until, '', p_wanted);")
)


class Migration(migrations.Migration):

    dependencies = [
        ('allocator', '0010_moves'),
    ]

    operations = [
        migrations.CreateModel(
            name='PoolLessons',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('pool', models.CharField(blank=True, max_length=64, unique=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('learned_at', models.DateTimeField()),
                ('asks', models.PositiveIntegerField()),
                ('lessons', models.JSONField()),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddField(
            model_name='lease',
            name='wanted',
            field=models.JSONField(blank=True, default=None, null=True),
        ),
        EnableRowSecurity("allocator_poollessons"),
        migrations.RunSQL(BOOK, reverse_sql=migrations.RunSQL.noop),
    ]
