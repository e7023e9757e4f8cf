"""Fail-over: nodes that stand by or settle, leases that wait for their device. The database refuses what they rule out."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

# `vxpu.failover` is set for the transaction by whoever places what was lost. It opens the standby to it, nothing else.
CLOSED = """
CREATE OR REPLACE FUNCTION allocator_closed(p_node uuid, p_period tstzrange) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT CASE
        WHEN EXISTS (
            SELECT 1 FROM allocator_maintenance m
             WHERE m.node_id = p_node AND tstzrange(m.starts_at, m.ends_at) && p_period
        ) THEN 'maintenance'
        ELSE (
            SELECT CASE
                WHEN n.cordoned_at IS NOT NULL THEN 'cordoned'
                WHEN n.settling_since IS NOT NULL THEN 'settling'
                WHEN n.standby AND coalesce(current_setting('vxpu.failover', true), '') <> 'on' THEN 'standby' END
              FROM allocator_node n WHERE n.id = p_node
        ) END
$$;
"""

# As in 0009: `authority_until` moves with every heartbeat and is no news either.
NOTED = """
DROP TRIGGER node_change_is_noted ON allocator_node;
CREATE TRIGGER node_change_is_noted AFTER UPDATE ON allocator_node FOR EACH ROW
    WHEN (to_jsonb(OLD) - '{last_seen_at,clock_offset_ms,boot_id,agent_version,authority_until}'::text[]
          IS DISTINCT FROM
          to_jsonb(NEW) - '{last_seen_at,clock_offset_ms,boot_id,agent_version,authority_until}'::text[])
    EXECUTE FUNCTION allocator_note_node('id');
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0011_lessons")]
    operations: ClassVar = [
        migrations.AddField("node", "standby", models.BooleanField(default=False, db_default=False)),
        migrations.AddField("node", "authority_until", models.DateTimeField(null=True)),
        migrations.AddField("node", "settling_since", models.DateTimeField(null=True)),
        migrations.AddIndex(
            "lease",
            models.Index(fields=["ended_at"], condition=models.Q(state="lost"), name="lease_lost_lately"),
        ),
        # Expand only: the function of 0004 in its new form; the old form ran on the same columns.
        migrations.RunSQL([(CLOSED, None), (NOTED, None)], reverse_sql=migrations.RunSQL.noop),
    ]
