"""The queue: classes, back-off, kept room and estimates; the quota tree; use that is forgotten by halves."""

from __future__ import annotations

from importlib import import_module

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import marketplace.matching.queue_order
import vxpu.ids
from plumbing.rowsec import EnableRowSecurity

# Frozen as in 0002; a test compares the newest of these lists with models.ALLOWED.
_BEFORE = import_module("marketplace.migrations.0007_preemption")
MOVES = [*_BEFORE.MOVES, "activating>queued"]
GUARD_STATE = _BEFORE.GUARD_STATE.replace(repr(_BEFORE.MOVES), repr(MOVES))


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0007_preemption'),
    ]

    operations = [
        migrations.CreateModel(
            name='DecayedUse',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('project_id', models.UUIDField(unique=True)),
                ('permille_s', models.BigIntegerField(default=0)),
                ('mib_s', models.BigIntegerField(default=0)),
                ('through', models.DateTimeField()),
            ],
            options={
                'db_table': 'marketplace_decayed_use',
            },
        ),
        migrations.AddField(
            model_name='quota',
            name='borrow_mib',
            field=models.BigIntegerField(blank=True, db_default=0, default=0, null=True),
        ),
        migrations.AddField(
            model_name='quota',
            name='borrow_permille',
            field=models.PositiveIntegerField(blank=True, db_default=0, default=0, null=True),
        ),
        migrations.AddField(
            model_name='quota',
            name='lend_mib',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='quota',
            name='lend_permille',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='quota',
            name='urgent_permille',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='quota',
            name='weight',
            field=models.PositiveIntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name='reservation',
            name='attempts',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='reservation',
            name='estimated_start_by',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='reservation',
            name='next_try_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='reservation',
            name='planned_device_id',
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='reservation',
            name='planned_start_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='reservation',
            name='priority',
            field=models.CharField(choices=[('urgent', 'urgent'), ('normal', 'normal'), ('low', 'low')], db_default='normal', default=marketplace.matching.queue_order.Urgency['NORMAL'], max_length=8),
        ),
        migrations.CreateModel(
            name='Cohort',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('borrow_permille', models.PositiveIntegerField(blank=True, db_default=0, default=0, null=True)),
                ('borrow_mib', models.BigIntegerField(blank=True, db_default=0, default=0, null=True)),
                ('lend_permille', models.PositiveIntegerField(blank=True, null=True)),
                ('lend_mib', models.BigIntegerField(blank=True, null=True)),
                ('weight', models.PositiveIntegerField(db_default=1, default=1)),
                ('name', models.CharField(max_length=120, unique=True)),
                ('nominal_permille', models.PositiveIntegerField(default=0)),
                ('nominal_mib', models.BigIntegerField(default=0)),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='marketplace.cohort')),
            ],
            options={
                'db_table': 'marketplace_cohort',
            },
        ),
        migrations.AddField(
            model_name='quota',
            name='cohort',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tenants', to='marketplace.cohort'),
        ),
        migrations.AddConstraint(
            model_name='quota',
            constraint=models.CheckConstraint(condition=models.Q(('weight__gte', 1)), name='quota_weight'),
        ),
        migrations.AddConstraint(
            model_name='quota',
            constraint=models.CheckConstraint(condition=models.Q(('cohort__isnull', True), ('project_id__isnull', True), _connector='OR'), name='quota_only_tenants_have_cohorts'),
        ),
        migrations.AddConstraint(
            model_name='cohort',
            constraint=models.CheckConstraint(condition=models.Q(('nominal_mib__gte', 0), ('weight__gte', 1)), name='cohort_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='cohort',
            constraint=models.CheckConstraint(condition=models.Q(('parent', models.F('id')), _negated=True), name='cohort_not_its_own_parent'),
        ),
        EnableRowSecurity("marketplace_decayed_use"),
        EnableRowSecurity("marketplace_cohort"),
        # Expand only: what was allowed before is allowed still.
        migrations.RunSQL(GUARD_STATE, reverse_sql=migrations.RunSQL.noop),
    ]
