"""Nodes out of service on purpose: cordon, maintenance, racks. The database refuses what would be booked into it."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import vxpu.ids
from plumbing.rowsec import AppendOnly, EnableRowSecurity

# Whoever cordons or drains bumps the versions of the node's devices after its write, so a booking that is under way has
# either committed before, and is in the impact list, or waits at its device and then sees this.
CLOSED = """
CREATE FUNCTION allocator_closed(p_node uuid, p_period tstzrange) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT CASE
        WHEN EXISTS (
            SELECT 1 FROM allocator_maintenance m
             WHERE m.node_id = p_node AND tstzrange(m.starts_at, m.ends_at) && p_period
        ) THEN 'maintenance'
        WHEN EXISTS (
            SELECT 1 FROM allocator_node n WHERE n.id = p_node AND n.cordoned_at IS NOT NULL
        ) THEN 'cordoned' END
$$;
"""

REFUSAL = """
CREATE OR REPLACE FUNCTION allocator_refusal(
    device allocator_device, p_permille integer, p_mib bigint, p_period tstzrange, p_mode smallint)
RETURNS text LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    peak record;
    no_compute boolean;
    no_memory boolean;
    closed text;
BEGIN
    IF device.id IS NULL THEN
        RETURN 'other_device';
    END IF;
    IF NOT device.is_present OR NOT EXISTS (
        SELECT 1 FROM allocator_node n WHERE n.id = device.node_id AND n.state = 'active' AND n.is_online
    ) THEN
        RETURN 'offline';
    END IF;
    closed := allocator_closed(device.node_id, p_period);
    IF closed IS NOT NULL THEN
        RETURN closed;
    END IF;
    IF EXISTS (
        SELECT 1 FROM allocator_segment s
         WHERE s.device_id = device.id AND s.period && p_period AND s.live AND s.mode_class <> p_mode
    ) THEN
        RETURN CASE WHEN p_mode = 1 THEN 'in_use' ELSE 'taken_whole' END;
    END IF;
    SELECT * INTO peak FROM allocator_peak(device.id, p_period);
    no_compute := peak.permille + p_permille > device.capacity_permille;
    no_memory := peak.mib + p_mib > device.capacity_mib;
    RETURN CASE WHEN no_compute AND no_memory THEN 'memory_and_compute'
                WHEN no_compute THEN 'compute' WHEN no_memory THEN 'memory' END;
END $$;
"""

# A lease that runs may be resized and shortened on a node that drains, but not prolonged into the maintenance: the node
# would never be empty. A cordon alone leaves it be.
FENCE = """
CREATE OR REPLACE FUNCTION allocator_fence_segment() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    device allocator_device%ROWTYPE;
    peak record;
BEGIN
    IF NOT NEW.live OR (TG_OP = 'UPDATE' AND OLD.live AND NEW.device_id = OLD.device_id
            AND NEW.permille <= OLD.permille AND NEW.mib <= OLD.mib AND NEW.period <@ OLD.period) THEN
        RETURN NULL;
    END IF;
    -- Once more after the booking function's own: the fence trusts nobody.
    UPDATE allocator_device SET version = version + 1 WHERE id = NEW.device_id RETURNING * INTO device;
    IF TG_OP = 'UPDATE' AND upper(OLD.period) IS NOT NULL
            AND (upper(NEW.period) IS NULL OR upper(NEW.period) > upper(OLD.period))
            AND allocator_closed(device.node_id, tstzrange(upper(OLD.period), upper(NEW.period))) = 'maintenance' THEN
        RAISE EXCEPTION 'the node of device % goes into maintenance before that', NEW.device_id
            USING ERRCODE = '23514', CONSTRAINT = 'segment_before_maintenance', TABLE = 'allocator_segment';
    END IF;
    SELECT * INTO peak FROM allocator_peak(NEW.device_id, NEW.period);
    IF peak.permille > device.capacity_permille OR peak.mib > device.capacity_mib THEN
        RAISE EXCEPTION 'device % would hold % permille and % MiB', NEW.device_id, peak.permille, peak.mib
            USING ERRCODE = '23514', CONSTRAINT = 'segment_fits_device', TABLE = 'allocator_segment';
    END IF;
    RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0003_usage")]
    operations: ClassVar = [
        migrations.AddField(
            model_name='node',
            name='cordoned_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='node',
            name='rack',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
        migrations.CreateModel(
            name='Maintenance',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField(null=True)),
                ('drained_at', models.DateTimeField(null=True)),
                ('reason', models.CharField(max_length=200)),
                ('started_by', models.CharField(max_length=80)),
                ('ended_by', models.CharField(blank=True, default='', max_length=80)),
                ('node', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='maintenance', to='allocator.node')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('ends_at__isnull', True)), fields=('node',), name='maintenance_one_open_per_node'), models.CheckConstraint(condition=models.Q(('ends_at__isnull', True), ('ends_at__gte', models.F('starts_at')), _connector='OR'), name='maintenance_in_order')],
            },
        ),
        migrations.CreateModel(
            name='NodeEvent',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('kind', models.CharField(max_length=32)),
                ('actor', models.CharField(max_length=80)),
                ('reason', models.CharField(blank=True, default='', max_length=400)),
                ('at', models.DateTimeField()),
                ('node', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='events', to='allocator.node')),
            ],
            options={
                'indexes': [models.Index(fields=['-at'], name='node_event_newest')],
            },
        ),
        EnableRowSecurity("allocator_maintenance"),
        EnableRowSecurity("allocator_nodeevent"),
        AppendOnly("allocator_nodeevent"),
        # Expand only: the functions of 0002 in their new form; the old form ran on the same columns.
        migrations.RunSQL([(part, None) for part in (CLOSED, REFUSAL, FENCE)], reverse_sql=migrations.RunSQL.noop),
    ]
