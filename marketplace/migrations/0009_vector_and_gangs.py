"""The rest of a wish: models, pool, site, host parts; why a place was chosen; gangs."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import vxpu.ids
from plumbing.rowsec import EnableRowSecurity


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0008_queue'),
    ]

    operations = [
        migrations.AddField(
            model_name='placement',
            name='why',
            field=models.JSONField(blank=True, default=None, null=True),
        ),
        migrations.AddField(
            model_name='quote',
            name='copy_permille',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='quote',
            name='cores_milli',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='quote',
            name='device_models',
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='quote',
            name='host_mib',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='quote',
            name='near',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='quote',
            name='pool',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='quote',
            name='site',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='reservation',
            name='copy_permille',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='reservation',
            name='cores_milli',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='reservation',
            name='device_models',
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='reservation',
            name='gang_rank',
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='reservation',
            name='host_mib',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='reservation',
            name='near',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='reservation',
            name='pool',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='reservation',
            name='site',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.CreateModel(
            name='Gang',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('project_id', models.UUIDField()),
                ('requested_by', models.UUIDField()),
                ('name', models.CharField(blank=True, default='', max_length=200)),
                ('count', models.PositiveSmallIntegerField()),
                ('together', models.CharField(choices=[('node', 'Node'), ('rack', 'Rack'), ('site', 'Site'), ('devices', 'Devices'), ('any', 'Any')], max_length=16)),
            ],
            options={
                'db_table': 'marketplace_gang',
                'indexes': [models.Index(fields=['tenant_id', '-created_at'], name='gang_by_tenant')],
                'constraints': [models.CheckConstraint(condition=models.Q(('count__gte', 1)), name='gang_size')],
            },
        ),
        migrations.AddField(
            model_name='reservation',
            name='gang',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reservations', to='marketplace.gang'),
        ),
        migrations.AddConstraint(
            model_name='reservation',
            constraint=models.CheckConstraint(condition=models.Q(('cores_milli__gte', 0), ('host_mib__gte', 0), ('copy_permille__lte', 1000)), name='reservation_vector'),
        ),
        migrations.AddConstraint(
            model_name='reservation',
            constraint=models.UniqueConstraint(fields=('gang', 'gang_rank'), name='gang_rank_once'),
        ),
        EnableRowSecurity('marketplace_gang'),
    ]
