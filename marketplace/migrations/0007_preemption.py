"""Pre-emption: what was bought so, the notice, who was evicted for whom; a victim may be spared before its end."""

from __future__ import annotations

from importlib import import_module

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import vxpu.ids
from plumbing.rowsec import AppendOnly, EnableRowSecurity

# Frozen as in 0002; a test compares the newest of these lists with models.ALLOWED.
_FIRST = import_module("marketplace.migrations.0002_guards")
MOVES = [*_FIRST.MOVES, "preempting>active"]
GUARD_STATE = (
    _FIRST.GUARD_STATE.partition("CREATE TRIGGER")[0]
    .replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
    .replace(repr(_FIRST.MOVES), repr(MOVES))
)


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0006_ordered_transitions'),
    ]

    operations = [
        migrations.AddField(
            model_name='placement',
            name='free_from',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='quote',
            name='preemptible',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='reservation',
            name='checkpointed_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='reservation',
            name='evict_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='reservation',
            name='evictions',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='reservation',
            name='notice_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='reservation',
            name='preemptible',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name='Eviction',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('for_id', models.UUIDField(db_index=True)),
                ('kind', models.CharField(choices=[('noticed', 'Noticed'), ('evicted', 'Evicted'), ('spared', 'Spared')], max_length=16)),
                ('reason', models.CharField(choices=[('preempted', 'Preempted'), ('reclaimed', 'Reclaimed')], max_length=16)),
                ('lease_id', models.UUIDField()),
                ('node_id', models.UUIDField()),
                ('at', models.DateTimeField()),
                ('deadline_at', models.DateTimeField()),
                ('wasted_permille_s', models.BigIntegerField(default=0)),
                ('refunded_permille_s', models.BigIntegerField(default=0)),
                ('reservation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='eviction_rows', to='marketplace.reservation')),
            ],
            options={
                'db_table': 'marketplace_eviction',
                'indexes': [models.Index(fields=['reservation', '-at'], name='eviction_by_reservation')],
                'constraints': [models.UniqueConstraint(fields=('lease_id', 'kind', 'at'), name='one_eviction_step_per_lease'), models.CheckConstraint(condition=models.Q(('wasted_permille_s__gte', 0), ('refunded_permille_s__gte', 0)), name='eviction_amounts'), models.CheckConstraint(condition=models.Q(('reservation_id', models.F('for_id')), _negated=True), name='eviction_of_another')],
            },
        ),
        EnableRowSecurity("marketplace_eviction"),
        AppendOnly("marketplace_eviction"),
        # Expand only: what was allowed before is allowed still.
        migrations.RunSQL(GUARD_STATE, reverse_sql=migrations.RunSQL.noop),
    ]
