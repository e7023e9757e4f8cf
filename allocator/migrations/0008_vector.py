"""Capacity as a vector, hosts, pools and sites: the columns. What guards them is in 0009."""

import django.contrib.postgres.fields.ranges
import django.db.models.deletion
import django.utils.timezone
import vxpu.ids
from django.db import migrations, models

from plumbing.rowsec import EnableRowSecurity


class Migration(migrations.Migration):

    dependencies = [
        ('allocator', '0007_preemption'),
    ]

    operations = [
        migrations.CreateModel(
            name='NodeHost',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('cores_milli', models.PositiveBigIntegerField(default=None, null=True)),
                ('memory_mib', models.PositiveBigIntegerField(default=None, null=True)),
                ('capacity_cores_milli', models.PositiveBigIntegerField(default=None, null=True)),
                ('capacity_mib', models.PositiveBigIntegerField(default=None, null=True)),
                ('version', models.BigIntegerField(default=0)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Pool',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('name', models.CharField(max_length=64, unique=True)),
                ('policy', models.CharField(max_length=32)),
                ('may_override', models.BooleanField(default=False)),
                ('description', models.CharField(blank=True, default='', max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name='Site',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('name', models.CharField(max_length=64, unique=True)),
                ('pue_permille', models.PositiveIntegerField(default=None, null=True)),
                ('carbon_g_per_kwh', models.PositiveIntegerField(default=None, null=True)),
                ('latency_ms', models.JSONField(blank=True, default=dict)),
                ('topology', models.JSONField(blank=True, default=None, null=True)),
            ],
        ),
        migrations.AddField(
            model_name='node',
            name='topology',
            field=models.JSONField(blank=True, default=None, null=True),
        ),
        migrations.AddField(
            model_name='segment',
            name='copy_permille',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='segment',
            name='cores_milli',
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='segment',
            name='host_mib',
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='segment',
            name='node',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='allocator.node'),
        ),
        migrations.AddField(
            model_name='segment',
            name='slots',
            field=django.contrib.postgres.fields.ranges.IntegerRangeField(default=None, null=True),
        ),
        migrations.AlterField(
            model_name='segment',
            name='mode_class',
            field=models.SmallIntegerField(choices=[(0, 'Shared'), (1, 'Whole'), (2, 'Mig')], default=0),
        ),
        migrations.AddConstraint(
            model_name='segment',
            constraint=models.CheckConstraint(condition=models.Q(('copy_permille__lte', 1000)), name='segment_copy_range'),
        ),
        migrations.AddField(
            model_name='nodehost',
            name='node',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='host', to='allocator.node'),
        ),
        migrations.AddConstraint(
            model_name='pool',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='pool_has_a_name'),
        ),
        migrations.AddField(
            model_name='node',
            name='pool',
            field=models.ForeignKey(default=None, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='nodes', to='allocator.pool'),
        ),
        migrations.AddConstraint(
            model_name='site',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='site_has_a_name'),
        ),
        migrations.AddConstraint(
            model_name='site',
            constraint=models.CheckConstraint(condition=models.Q(('pue_permille__isnull', True), ('pue_permille__gte', 1000), _connector='OR'), name='site_pue_range'),
        ),
        migrations.AddField(
            model_name='node',
            name='site',
            field=models.ForeignKey(default=None, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='nodes', to='allocator.site'),
        ),
        EnableRowSecurity('allocator_pool'),
        EnableRowSecurity('allocator_site'),
        EnableRowSecurity('allocator_nodehost'),
    ]
