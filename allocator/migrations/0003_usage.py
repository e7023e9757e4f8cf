"""Usage windows by day, and delivered time from the calendar. See docs/allocator.md."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from plumbing.rowsec import EnableRowSecurity

# A unique key of a partitioned table must hold the partition key: (lease, window_start) does, so one row is both the
# fact and its de-duplication.
WINDOWS = """
CREATE TABLE allocator_usagewindow (
    lease_id uuid NOT NULL,
    window_start timestamptz NOT NULL,
    tenant_id uuid NOT NULL,
    node_id uuid NOT NULL,
    window_s integer NOT NULL CHECK (window_s BETWEEN 1 AND 3600),
    token bigint NOT NULL,
    granted_permille_s bigint NOT NULL CHECK (granted_permille_s >= 0),
    used_permille_s bigint NOT NULL CHECK (used_permille_s >= 0),
    granted_mib_s bigint NOT NULL CHECK (granted_mib_s >= 0),
    peak_mib bigint,
    energy_mj bigint,
    throttled_ms bigint,
    copied_bytes bigint,
    state varchar(16) NOT NULL,
    contended boolean NOT NULL,
    seq bigint NOT NULL,
    prev_hash varchar(64) NOT NULL,
    clock_offset_ms bigint NOT NULL,
    mono_ns bigint NOT NULL,
    payload_digest bytea NOT NULL,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (lease_id, window_start)
) PARTITION BY RANGE (window_start);
CREATE INDEX allocator_usagewindow_received ON allocator_usagewindow USING brin (received_at);
"""

# Made apart and attached: that takes SHARE UPDATE EXCLUSIVE on the parent, so inserts go on meanwhile, where
# CREATE ... PARTITION OF would stop them. The partition itself has row security and no policy: the only way is in
# through the parent. The application may not create tables, hence SECURITY DEFINER.
PARTITION = """
CREATE FUNCTION allocator_ensure_window_partition(p_day date) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    part text := 'allocator_usagewindow_p' || to_char(p_day, 'YYYYMMDD');
BEGIN
    IF to_regclass(part) IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('allocator_usagewindow'), 0);
    EXECUTE format('CREATE TABLE %I (LIKE allocator_usagewindow INCLUDING ALL)', part);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE allocator_usagewindow ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part,
        p_day::timestamp AT TIME ZONE 'UTC', (p_day + 1)::timestamp AT TIME ZONE 'UTC');
    RETURN true;
EXCEPTION WHEN duplicate_table THEN
    -- Whoever held the lock before us made it and has committed; a look before creating may not see that yet.
    RETURN false;
END $$;
"""

# Delivered time: from the first ready to the earlier of end and gone, in whole seconds, cut at resizes, without the
# time in which the node was silent. A silence begins at the last counted window that was measured within authority.
DELIVERED = """
CREATE FUNCTION allocator_delivered(p_device uuid, p_lease uuid, p_as_of timestamptz)
RETURNS TABLE (lease_id uuid, device_id uuid, permille integer, mib bigint, device_mib bigint, span tstzrange)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH chosen AS (
        SELECT l.id, date_trunc('second', l.ready_at + interval '999999 microseconds') AS starts,
               date_trunc('second', least(l.ends_at, l.ended_at, p_as_of)) AS ends
          FROM allocator_lease l
         WHERE l.ready_at IS NOT NULL AND (p_lease IS NULL OR l.id = p_lease)
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

# One sweep over a device's period; independent of every charge. All in permille-seconds of the whole device.
IDLE = """
CREATE FUNCTION allocator_idle(
    p_device uuid, p_from timestamptz, p_to timestamptz, OUT idle bigint, OUT over bigint, OUT taken bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH pieces AS (
        SELECT d.span * tstzrange(p_from, p_to) AS span, d.permille::numeric AS compute,
               d.mib * 1000::numeric / d.device_mib AS memory
          FROM allocator_delivered(p_device, NULL, p_to) d WHERE d.span && tstzrange(p_from, p_to)
    ), edges AS (
        SELECT lower(span) AS t, compute, memory, greatest(compute, ceil(memory)) AS dominant FROM pieces
        UNION ALL SELECT upper(span), -compute, -memory, -greatest(compute, ceil(memory)) FROM pieces
        UNION ALL SELECT p_from, 0, 0, 0
        UNION ALL SELECT p_to, 0, 0, 0
    ), steps AS (
        SELECT t, lead(t) OVER o AS until, sum(sum(compute)) OVER o AS compute, sum(sum(memory)) OVER o AS memory,
               sum(sum(dominant)) OVER o AS dominant
          FROM edges GROUP BY t WINDOW o AS (ORDER BY t)
    ), levels AS (
        SELECT extract(epoch FROM until - t) AS seconds, dominant,
               least(1000, dominant, greatest(compute, ceil(round(memory, 9)))) AS taken
          FROM steps WHERE until IS NOT NULL
    )
    SELECT coalesce(sum(seconds * (1000 - taken)), 0)::bigint, coalesce(sum(seconds * (dominant - taken)), 0)::bigint,
           coalesce(sum(seconds * taken), 0)::bigint FROM levels
$$;
"""

DROP = """
DROP FUNCTION allocator_idle, allocator_delivered, allocator_ensure_window_partition;
DROP TABLE allocator_usagewindow;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0002_capacity")]
    operations: ClassVar = [
        migrations.RunSQL([(WINDOWS, None)], reverse_sql=migrations.RunSQL.noop),
        EnableRowSecurity("allocator_usagewindow"),
        migrations.RunSQL([(part, None) for part in (PARTITION, DELIVERED, IDLE)], reverse_sql=[(DROP, None)]),
    ]
