"""Capacity has its last word in the database: booking function, fence, legal moves, sweep. See docs/allocator.md."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from plumbing.rowsec import AppendOnly, EnableRowSecurity

TABLES = [
    "node", "nodekey", "enrolment", "spenttoken", "device", "devicereading", "lease", "leaseevent", "leaseoutage",
    "segment", "quarantinedusage", "usagecursor", "usagegap", "dirtyhour", "pulse",
]

BASE = """
CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE SEQUENCE allocator_fencing AS bigint;
-- Whole-device and shared use never overlap. The index serves the peak query as well.
ALTER TABLE allocator_segment ADD CONSTRAINT segment_one_mode
    EXCLUDE USING gist (device_id WITH =, period WITH &&, mode_class WITH <>) WHERE (live);
ALTER TABLE allocator_segment ADD CONSTRAINT segment_half_open
    CHECK (NOT isempty(period) AND lower_inc(period) AND NOT upper_inc(period) AND NOT lower_inf(period));
"""

# Peak inside a window: running sum over starts (+) and ends (-); at equal instants ends come first, so back-to-back
# fits. An open end is NULL, which sorts last.
PEAK = """
CREATE FUNCTION allocator_peak(p_device uuid, p_window tstzrange, OUT permille bigint, OUT mib bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT coalesce(max(sum_permille), 0), coalesce(max(sum_mib), 0) FROM (
        SELECT sum(dm) OVER o AS sum_permille, sum(db) OVER o AS sum_mib FROM (
            SELECT greatest(lower(s.period), lower(p_window)) AS t, s.permille::bigint AS dm, s.mib AS db, 1 AS k
              FROM allocator_segment s WHERE s.device_id = p_device AND s.period && p_window AND s.live
            UNION ALL
            SELECT upper(s.period), -s.permille::bigint, -s.mib, 0
              FROM allocator_segment s WHERE s.device_id = p_device AND s.period && p_window AND s.live
        ) e WINDOW o AS (ORDER BY t, k ROWS UNBOUNDED PRECEDING)
    ) x
$$;
"""

LAPSE = """
CREATE FUNCTION allocator_lapse(p_device uuid, p_now timestamptz) RETURNS uuid[]
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH due AS (
        SELECT id FROM allocator_lease
         WHERE device_id = p_device AND state = 'held' AND hold_until <= p_now ORDER BY id FOR NO KEY UPDATE
    ), gone AS (
        UPDATE allocator_lease l SET state = 'gone', ended_at = p_now, end_reason = 'hold_lapsed', version = version + 1
          FROM due WHERE l.id = due.id RETURNING l.id, l.tenant_id
    ), freed AS (
        UPDATE allocator_segment s SET live = false FROM gone WHERE s.lease_id = gone.id
    ), noted AS (
        INSERT INTO allocator_leaseevent (id, tenant_id, created_at, lease_id, from_state, to_state, actor, reason, at)
        SELECT gen_random_uuid(), tenant_id, p_now, id, 'held', 'gone', 'allocator', 'hold_lapsed', p_now FROM gone
    )
    SELECT coalesce(array_agg(id), '{}') FROM gone
$$;
"""

# The bump of the device's version is what makes this right under REPEATABLE READ: a bare row lock would let the second
# booker go on with its old snapshot and overbook without a word; the bump turns that into 40001.
# A refusal rolls its own part back, and so lets go of the device: a caller that goes on to the next candidate holds one
# device at a time, in whatever order it tries them.
BOOK = """
CREATE FUNCTION allocator_book(
    p_lease uuid, p_segment uuid, p_tenant uuid, p_owner uuid, p_device uuid, p_permille integer, p_mib bigint,
    p_period tstzrange, p_whole boolean, p_hold_until timestamptz, p_now timestamptz,
    OUT refusal text, OUT lapsed uuid[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    device allocator_device%ROWTYPE;
    mode smallint := CASE WHEN p_whole THEN 1 ELSE 0 END;
    first_state text := CASE WHEN p_hold_until IS NULL THEN 'assigned' ELSE 'held' END;
BEGIN
    UPDATE allocator_device SET version = version + 1 WHERE id = p_device RETURNING * INTO device;
    lapsed := allocator_lapse(p_device, p_now);
    IF p_whole THEN
        p_permille := device.capacity_permille;
        p_mib := device.capacity_mib;
    END IF;
    refusal := allocator_refusal(device, p_permille, p_mib, p_period, mode);
    IF refusal IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'VX001', MESSAGE = refusal;
    END IF;
    INSERT INTO allocator_lease (
        id, tenant_id, created_at, owner, device_id, node_id, state, share_permille, memory_mib, whole, isolation,
        token, version, starts_at, ends_at, hold_until, end_reason)
    VALUES (
        p_lease, p_tenant, p_now, p_owner, p_device, device.node_id, first_state, p_permille, p_mib, p_whole,
        CASE WHEN p_whole THEN 'exclusive' ELSE device.isolation END, nextval('allocator_fencing'), 1,
        lower(p_period), upper(p_period), p_hold_until, '');
    INSERT INTO allocator_segment (
        id, tenant_id, created_at, lease_id, device_id, permille, mib, device_mib, period, mode_class, live)
    VALUES (p_segment, p_tenant, p_now, p_lease, p_device, p_permille, p_mib, device.capacity_mib, p_period, mode, true);
    INSERT INTO allocator_leaseevent (id, tenant_id, created_at, lease_id, from_state, to_state, actor, reason, at)
    VALUES (gen_random_uuid(), p_tenant, p_now, p_lease, '', first_state, 'allocator', 'booked', p_now);
EXCEPTION WHEN SQLSTATE 'VX001' THEN
    refusal := SQLERRM;
    lapsed := '{}';
END $$;
"""

REFUSAL = """
CREATE FUNCTION allocator_refusal(
    device allocator_device, p_permille integer, p_mib bigint, p_period tstzrange, p_mode smallint)
RETURNS text LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    peak record;
    no_compute boolean;
    no_memory boolean;
BEGIN
    IF device.id IS NULL THEN
        RETURN 'other_device';
    END IF;
    IF NOT device.is_present OR NOT EXISTS (
        SELECT 1 FROM allocator_node n WHERE n.id = device.node_id AND n.state = 'active' AND n.is_online
    ) THEN
        RETURN 'offline';
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

FENCE = """
CREATE FUNCTION allocator_fence_segment() RETURNS trigger
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
    SELECT * INTO peak FROM allocator_peak(NEW.device_id, NEW.period);
    IF peak.permille > device.capacity_permille OR peak.mib > device.capacity_mib THEN
        RAISE EXCEPTION 'device % would hold % permille and % MiB', NEW.device_id, peak.permille, peak.mib
            USING ERRCODE = '23514', CONSTRAINT = 'segment_fits_device', TABLE = 'allocator_segment';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER segment_fits_device AFTER INSERT OR UPDATE ON allocator_segment
    FOR EACH ROW EXECUTE FUNCTION allocator_fence_segment();
"""

# The same table as vxpu.states.LEASE_MOVES; a test compares them.
MOVES = """
CREATE FUNCTION allocator_lease_moves(p_state text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_state
        WHEN '' THEN ARRAY['held', 'assigned']
        WHEN 'held' THEN ARRAY['assigned', 'gone']
        WHEN 'assigned' THEN ARRAY['preparing', 'ready', 'draining', 'unreachable', 'gone']
        WHEN 'preparing' THEN ARRAY['ready', 'draining', 'unreachable', 'gone']
        WHEN 'ready' THEN ARRAY['suspended', 'draining', 'unreachable', 'gone']
        WHEN 'suspended' THEN ARRAY['ready', 'draining', 'unreachable', 'gone']
        WHEN 'draining' THEN ARRAY['unreachable', 'gone']
        WHEN 'unreachable' THEN ARRAY['preparing', 'ready', 'draining', 'lost', 'gone']
        ELSE ARRAY[]::text[] END
$$;
CREATE FUNCTION allocator_check_move() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    old_state text := CASE WHEN TG_OP = 'INSERT' THEN '' ELSE OLD.state END;
BEGIN
    IF NEW.state <> old_state AND NOT NEW.state = ANY (allocator_lease_moves(old_state)) THEN
        RAISE EXCEPTION 'lease %: % -> % is not a legal move', NEW.id, old_state, NEW.state
            USING ERRCODE = '23514', CONSTRAINT = 'lease_legal_move', TABLE = 'allocator_lease';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.token < OLD.token THEN
        RAISE EXCEPTION 'lease %: a fencing token never goes back', NEW.id
            USING ERRCODE = '23514', CONSTRAINT = 'lease_token_grows', TABLE = 'allocator_lease';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER lease_legal_move BEFORE INSERT OR UPDATE ON allocator_lease
    FOR EACH ROW EXECUTE FUNCTION allocator_check_move();
"""

SWEEP = """
CREATE FUNCTION allocator_sweep() RETURNS TABLE (kind text, subject uuid, at timestamptz, found bigint, allowed bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH edges AS (
        SELECT device_id, lower(period) AS t, 1 AS k, permille::bigint AS dm, mib AS db FROM allocator_segment WHERE live
        UNION ALL
        SELECT device_id, upper(period), 0, -permille::bigint, -mib FROM allocator_segment WHERE live
    ), sums AS (
        SELECT device_id, t, sum(dm) OVER o AS permille, sum(db) OVER o AS mib FROM edges
        WINDOW o AS (PARTITION BY device_id ORDER BY t, k ROWS UNBOUNDED PRECEDING)
    )
    SELECT 'compute', s.device_id, min(s.t), max(s.permille)::bigint, d.capacity_permille::bigint
      FROM sums s JOIN allocator_device d ON d.id = s.device_id
     WHERE s.permille > d.capacity_permille GROUP BY s.device_id, d.capacity_permille
    UNION ALL
    SELECT 'memory', s.device_id, min(s.t), max(s.mib)::bigint, d.capacity_mib
      FROM sums s JOIN allocator_device d ON d.id = s.device_id
     WHERE s.mib > d.capacity_mib GROUP BY s.device_id, d.capacity_mib
    UNION ALL
    SELECT 'mode', a.device_id, min(greatest(lower(a.period), lower(b.period))), count(*), 0
      FROM allocator_segment a JOIN allocator_segment b
        ON a.device_id = b.device_id AND a.period && b.period AND a.mode_class < b.mode_class AND a.live AND b.live
     GROUP BY a.device_id
    UNION ALL
    SELECT 'segment_of_ended_lease', l.id, l.ended_at, count(*), 0
      FROM allocator_segment s JOIN allocator_lease l ON l.id = s.lease_id
     WHERE s.live AND l.state IN ('gone', 'lost') GROUP BY l.id, l.ended_at
    UNION ALL
    SELECT 'lease_without_segment', l.id, l.starts_at, 0, 1 FROM allocator_lease l
     WHERE l.state NOT IN ('gone', 'lost')
       AND NOT EXISTS (SELECT 1 FROM allocator_segment s WHERE s.lease_id = l.id AND s.live)
$$;
"""

DROP = """
DROP TRIGGER lease_legal_move ON allocator_lease;
DROP TRIGGER segment_fits_device ON allocator_segment;
DROP FUNCTION allocator_sweep, allocator_check_move, allocator_lease_moves, allocator_fence_segment, allocator_book,
    allocator_refusal, allocator_lapse, allocator_peak;
ALTER TABLE allocator_segment DROP CONSTRAINT segment_half_open, DROP CONSTRAINT segment_one_mode;
DROP SEQUENCE allocator_fencing;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0001_initial")]
    operations: ClassVar = [
        *(EnableRowSecurity(f"allocator_{table}") for table in TABLES),
        AppendOnly("allocator_leaseevent"),
        migrations.RunSQL(
            [(part, None) for part in (BASE, PEAK, LAPSE, REFUSAL, BOOK, FENCE, MOVES, SWEEP)], reverse_sql=[(DROP, None)]
        ),
    ]
