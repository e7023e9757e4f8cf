"""Scaling by rule: rules, signals, decisions."""

import django.db.models.deletion
import django.utils.timezone
import vxpu.ids
from django.db import migrations, models

from plumbing.rowsec import AppendOnly, EnableRowSecurity


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0009_vector_and_gangs'),
    ]

    operations = [
        migrations.CreateModel(
            name='ScaleDecision',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('rule_id', models.UUIDField()),
                ('kind', models.CharField(choices=[('schedule', 'Schedule'), ('load', 'Load'), ('progress', 'Progress')], max_length=16)),
                ('outcome', models.CharField(choices=[('applied', 'Applied'), ('refused', 'Refused')], max_length=16)),
                ('reason', models.CharField(max_length=40)),
                ('code', models.CharField(blank=True, max_length=40)),
                ('from_permille', models.PositiveSmallIntegerField()),
                ('from_mib', models.BigIntegerField()),
                ('to_permille', models.PositiveSmallIntegerField()),
                ('to_mib', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('reservation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scale_decisions', to='marketplace.reservation')),
            ],
            options={
                'db_table': 'marketplace_scale_decision',
                'indexes': [models.Index(fields=['reservation', '-at'], name='scale_decision_newest')],
            },
        ),
        migrations.CreateModel(
            name='ScaleRule',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('kind', models.CharField(choices=[('schedule', 'Schedule'), ('load', 'Load'), ('progress', 'Progress')], max_length=16)),
                ('is_enabled', models.BooleanField(default=True)),
                ('min_permille', models.PositiveSmallIntegerField()),
                ('min_mib', models.BigIntegerField()),
                ('max_permille', models.PositiveSmallIntegerField()),
                ('max_mib', models.BigIntegerField()),
                ('cool_down_s', models.PositiveIntegerField()),
                ('definition', models.JSONField()),
                ('changed_at', models.DateTimeField()),
                ('changed_by', models.CharField(max_length=80)),
                ('reservation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scale_rules', to='marketplace.reservation')),
            ],
            options={
                'db_table': 'marketplace_scale_rule',
                'constraints': [models.CheckConstraint(condition=models.Q(('max_permille__lte', 1000), ('min_mib__gte', 1), ('min_permille__gte', 1), ('max_permille__gte', models.F('min_permille')), ('max_mib__gte', models.F('min_mib'))), name='scale_rule_bounds')],
            },
        ),
        migrations.CreateModel(
            name='ScaleSignal',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('name', models.CharField(max_length=16)),
                ('value', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('reservation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scale_signals', to='marketplace.reservation')),
            ],
            options={
                'db_table': 'marketplace_scale_signal',
                'constraints': [models.UniqueConstraint(fields=('reservation', 'name'), name='one_signal_of_a_name'), models.CheckConstraint(condition=models.Q(('value__gte', 0)), name='scale_signal_value')],
            },
        ),
        *(EnableRowSecurity(f"marketplace_{table}") for table in ("scale_rule", "scale_signal", "scale_decision")),
        AppendOnly("marketplace_scale_decision"),
    ]
