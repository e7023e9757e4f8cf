"""Replays of past requests that an operator asked for."""

from __future__ import annotations

from typing import ClassVar

import django.utils.timezone
from django.db import migrations, models

import vxpu.ids
from plumbing.rowsec import EnableRowSecurity

# The same table as `allocator.models.simulation.ALLOWED` (a test compares them).
MOVES = """
CREATE FUNCTION allocator_simulation_moves(p_state text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_state
        WHEN '' THEN ARRAY['queued']
        WHEN 'queued' THEN ARRAY['running', 'failed', 'cancelled']
        WHEN 'running' THEN ARRAY['done', 'failed', 'cancelled']
        ELSE ARRAY[]::text[] END
$$;
CREATE FUNCTION allocator_check_simulation() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    old_state text := CASE WHEN TG_OP = 'INSERT' THEN '' ELSE OLD.state END;
BEGIN
    IF NEW.state <> old_state AND NOT NEW.state = ANY (allocator_simulation_moves(old_state)) THEN
        RAISE EXCEPTION 'simulation %: % -> % is not a legal move', NEW.id, old_state, NEW.state
            USING ERRCODE = '23514', CONSTRAINT = 'simulation_legal_move', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER simulation_legal_move BEFORE INSERT OR UPDATE ON allocator_simulation
    FOR EACH ROW EXECUTE FUNCTION allocator_check_simulation();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0012_failover")]
    operations: ClassVar = [
        migrations.CreateModel(
            name='Simulation',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=16)),
                ('version', models.PositiveIntegerField(default=1)),
                ('started_by', models.CharField(max_length=80)),
                ('from_at', models.DateTimeField()),
                ('to_at', models.DateTimeField()),
                ('trials', models.JSONField()),
                ('requests', models.JSONField()),
                ('outcomes', models.JSONField(default=list)),
                ('progress_permille', models.PositiveSmallIntegerField(default=0)),
                ('seen_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('error', models.CharField(blank=True, default='', max_length=400)),
            ],
            options={
                'indexes': [models.Index(fields=['-created_at'], name='simulation_newest')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', False), ('state__in', ['done', 'failed', 'cancelled'])), models.Q(('ended_at__isnull', True), ('state__in', ['queued', 'running'])), _connector='OR'), name='simulation_end_is_known'), models.CheckConstraint(condition=models.Q(('to_at__gt', models.F('from_at'))), name='simulation_in_order')],
            },
        ),
        EnableRowSecurity("allocator_simulation"),
        migrations.RunSQL(MOVES, reverse_sql=migrations.RunSQL.noop),
    ]
