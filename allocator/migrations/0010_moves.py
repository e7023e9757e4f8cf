"""Moves of running leases: plans, the moves in them, what is held for them; delivered time that begins at a switch."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
import django.utils.timezone
import vxpu.ids
from django.db import migrations, models

from plumbing.rowsec import EnableRowSecurity

# As 0003, but a lease that was made to take over another's work is delivered from the switch on, and never without it.
DELIVERED = """
CREATE OR REPLACE FUNCTION allocator_delivered(p_device uuid, p_lease uuid, p_as_of timestamptz)
RETURNS TABLE (lease_id uuid, device_id uuid, permille integer, mib bigint, device_mib bigint, span tstzrange)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH chosen AS (
        SELECT l.id, coalesce(r.switched_at, date_trunc('second', l.ready_at + interval '999999 microseconds')) AS starts,
               date_trunc('second', least(l.ends_at, l.ended_at, p_as_of)) AS ends
          FROM allocator_lease l LEFT JOIN allocator_relocation r ON r.successor_id = l.id
         WHERE l.ready_at IS NOT NULL AND (r.id IS NULL OR r.switched_at IS NOT NULL)
           AND (p_lease IS NULL OR l.id = p_lease)
           AND (p_device IS NULL OR EXISTS (
               SELECT 1 FROM allocator_segment s WHERE s.lease_id = l.id AND s.device_id = p_device))
    ), silent AS (
        SELECT c.id, range_agg(tstzrange(f.since, greatest(f.since, coalesce(
                   date_trunc('second', o.recovered_at + interval '999999 microseconds'), 'infinity')))) AS gaps
          FROM chosen c JOIN allocator_leaseoutage o ON o.lease_id = c.id
         CROSS JOIN LATERAL (
            SELECT greatest(c.starts, least(date_trunc('second', o.authority_until),
                       coalesce(max(w.window_start + w.window_s * interval '1 second'), c.starts))) AS since
              FROM allocator_usagewindow w
             WHERE w.lease_id = c.id AND w.granted_permille_s > 0 AND w.window_start < o.authority_until
               AND w.window_start > c.starts - interval '1 hour') f
         GROUP BY c.id
    )
    SELECT s.lease_id, s.device_id, s.permille, s.mib, s.device_mib, unnest(
               tstzmultirange(s.period * tstzrange(c.starts, greatest(c.starts, c.ends)))
               - coalesce(silent.gaps, '{}'::tstzmultirange))
      FROM chosen c JOIN allocator_segment s ON s.lease_id = c.id
      LEFT JOIN silent ON silent.id = c.id
     WHERE p_device IS NULL OR s.device_id = p_device
$$;
"""

# The same tables as allocator.models.relocation; a test compares them.
MOVES = """
CREATE FUNCTION allocator_relocation_moves(p_state text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_state
        WHEN '' THEN ARRAY['planned']
        WHEN 'planned' THEN ARRAY['preparing', 'cancelled', 'failed']
        WHEN 'preparing' THEN ARRAY['ready', 'cancelled', 'failed']
        WHEN 'ready' THEN ARRAY['hooking', 'cancelled', 'failed']
        WHEN 'hooking' THEN ARRAY['switched', 'cancelled', 'failed']
        WHEN 'switched' THEN ARRAY['done']
        ELSE ARRAY[]::text[] END
$$;
CREATE FUNCTION allocator_moveplan_moves(p_state text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_state
        WHEN '' THEN ARRAY['running']
        WHEN 'running' THEN ARRAY['cleared', 'done', 'cancelled', 'failed']
        WHEN 'cleared' THEN ARRAY['done', 'cancelled', 'failed']
        ELSE ARRAY[]::text[] END
$$;
CREATE FUNCTION allocator_check_relocation() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    old_state text := CASE WHEN TG_OP = 'INSERT' THEN '' ELSE OLD.state END;
    allowed text[] := CASE WHEN TG_TABLE_NAME = 'allocator_moveplan' THEN allocator_moveplan_moves(old_state)
                           ELSE allocator_relocation_moves(old_state) END;
BEGIN
    IF NEW.state <> old_state AND NOT NEW.state = ANY (allowed) THEN
        RAISE EXCEPTION '% %: % -> % is not a legal move', TG_TABLE_NAME, NEW.id, old_state, NEW.state
            USING ERRCODE = '23514', CONSTRAINT = 'relocation_legal_move', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER relocation_legal_move BEFORE INSERT OR UPDATE ON allocator_relocation
    FOR EACH ROW EXECUTE FUNCTION allocator_check_relocation();
CREATE TRIGGER moveplan_legal_move BEFORE INSERT OR UPDATE ON allocator_moveplan
    FOR EACH ROW EXECUTE FUNCTION allocator_check_relocation();
"""


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('allocator', '0009_vector_guards'),
    ]

    operations: ClassVar = [
        migrations.AddField(
            model_name='lease',
            name='pinned',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name='MovePlan',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('kind', models.CharField(choices=[('room', 'Room'), ('drain', 'Drain'), ('consolidation', 'Consolidation'), ('single', 'Single')], max_length=16)),
                ('state', models.CharField(choices=[('running', 'Running'), ('cleared', 'Cleared'), ('done', 'Done'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='running', max_length=16)),
                ('version', models.PositiveIntegerField(default=1)),
                ('reason', models.CharField(max_length=200)),
                ('started_by', models.CharField(max_length=80)),
                ('at_once', models.PositiveSmallIntegerField(default=1)),
                ('owners', models.JSONField(default=list)),
                ('wish', models.JSONField(null=True)),
                ('hold_until', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('end_reason', models.CharField(blank=True, default='', max_length=400)),
                ('node', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='move_plans', to='allocator.node')),
            ],
        ),
        migrations.CreateModel(
            name='MoveHold',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('is_final', models.BooleanField(default=False)),
                ('lease', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='kept_for', to='allocator.lease')),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='holds', to='allocator.moveplan')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Relocation',
            fields=[
                ('id', models.UUIDField(default=vxpu.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField(db_index=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('position', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('planned', 'Planned'), ('preparing', 'Preparing'), ('ready', 'Ready'), ('hooking', 'Hooking'), ('switched', 'Switched'), ('done', 'Done'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='planned', max_length=16)),
                ('version', models.PositiveIntegerField(default=1)),
                ('cost_mib', models.PositiveBigIntegerField()),
                ('changed_at', models.DateTimeField()),
                ('hook_deadline', models.DateTimeField(null=True)),
                ('hook_result', models.CharField(blank=True, default='', max_length=16)),
                ('hook_detail', models.CharField(blank=True, default='', max_length=400)),
                ('switched_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('end_reason', models.CharField(blank=True, default='', max_length=400)),
                ('from_device', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='moves_away', to='allocator.device')),
                ('lease', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='moves', to='allocator.lease')),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='moves', to='allocator.moveplan')),
                ('successor', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='moved_by', to='allocator.lease')),
                ('to_device', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='moves_here', to='allocator.device')),
            ],
        ),
        migrations.AddIndex(
            model_name='moveplan',
            index=models.Index(fields=['-created_at'], name='move_plan_newest'),
        ),
        migrations.AddConstraint(
            model_name='moveplan',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['running', 'cleared'])), fields=('node',), name='move_plan_one_per_node'),
        ),
        migrations.AddConstraint(
            model_name='moveplan',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', False), ('state__in', ['done', 'cancelled', 'failed'])), models.Q(('ended_at__isnull', True), ('state__in', ['running', 'cleared'])), _connector='OR'), name='move_plan_end_is_known'),
        ),
        migrations.AddConstraint(
            model_name='relocation',
            constraint=models.UniqueConstraint(fields=('plan', 'position'), name='relocation_in_order'),
        ),
        migrations.AddConstraint(
            model_name='relocation',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['planned', 'preparing', 'ready', 'hooking'])), fields=('lease',), name='relocation_one_open_per_lease'),
        ),
        migrations.AddConstraint(
            model_name='relocation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['switched', 'done']), ('successor__isnull', False), ('switched_at__isnull', False)), models.Q(('switched_at__isnull', True), models.Q(('state__in', ['switched', 'done']), _negated=True)), _connector='OR'), name='relocation_switch_is_known'),
        ),
        migrations.AddConstraint(
            model_name='relocation',
            constraint=models.CheckConstraint(condition=models.Q(('successor__isnull', False), models.Q(('state__in', ['preparing', 'ready', 'hooking']), _negated=True), _connector='OR'), name='relocation_doubled_has_a_successor'),
        ),
        *(EnableRowSecurity(f"allocator_{table}") for table in ("moveplan", "relocation", "movehold")),
        # Expand only: without a move the function of 0003 answers as before.
        migrations.RunSQL([(part, None) for part in (DELIVERED, MOVES)], reverse_sql=migrations.RunSQL.noop),
    ]
