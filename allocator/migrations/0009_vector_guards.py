"""The vector's last word in the database: copy bandwidth, host parts, slots of a cut card; and a list of changes.

See docs/allocator.md.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

BASE = """
UPDATE allocator_segment s SET node_id = d.node_id FROM allocator_device d WHERE d.id = s.device_id;
INSERT INTO allocator_nodehost (id, tenant_id, created_at, node_id, version)
    SELECT gen_random_uuid(), tenant_id, created_at, id, 0 FROM allocator_node;
CREATE FUNCTION allocator_fill_segment() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    SELECT node_id INTO NEW.node_id FROM allocator_device WHERE id = NEW.device_id;
    RETURN NEW;
END $$;
CREATE TRIGGER segment_fills_node BEFORE INSERT OR UPDATE OF device_id, node_id ON allocator_segment
    FOR EACH ROW EXECUTE FUNCTION allocator_fill_segment();
CREATE FUNCTION allocator_make_host() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO allocator_nodehost (id, tenant_id, created_at, node_id, version)
        VALUES (gen_random_uuid(), NEW.tenant_id, NEW.created_at, NEW.id, 0);
    RETURN NULL;
END $$;
CREATE TRIGGER node_has_a_host AFTER INSERT ON allocator_node
    FOR EACH ROW EXECUTE FUNCTION allocator_make_host();
CREATE INDEX segment_host_parts ON allocator_segment USING gist (node_id, period)
    WHERE live AND (cores_milli > 0 OR host_mib > 0);
ALTER TABLE allocator_segment ADD CONSTRAINT segment_slot_once
    EXCLUDE USING gist (device_id WITH =, period WITH &&, slots WITH &&) WHERE (live AND slots IS NOT NULL);
ALTER TABLE allocator_segment ADD CONSTRAINT segment_slots_of_a_cut_card
    CHECK ((slots IS NOT NULL) = (mode_class = 2) AND NOT isempty(slots));
"""

# As in 0002, with the part of the link to the host.
PEAK = """
DROP FUNCTION allocator_peak(uuid, tstzrange);
CREATE FUNCTION allocator_peak(
    p_device uuid, p_window tstzrange, OUT permille bigint, OUT mib bigint, OUT copy_permille bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT coalesce(max(sum_permille), 0), coalesce(max(sum_mib), 0), coalesce(max(sum_copy), 0) FROM (
        SELECT sum(dm) OVER o AS sum_permille, sum(db) OVER o AS sum_mib, sum(dc) OVER o AS sum_copy FROM (
            SELECT greatest(lower(s.period), lower(p_window)) AS t, s.permille::bigint AS dm, s.mib AS db,
                   s.copy_permille::bigint AS dc, 1 AS k
              FROM allocator_segment s WHERE s.device_id = p_device AND s.period && p_window AND s.live
            UNION ALL
            SELECT upper(s.period), -s.permille::bigint, -s.mib, -s.copy_permille::bigint, 0
              FROM allocator_segment s WHERE s.device_id = p_device AND s.period && p_window AND s.live
        ) e WINDOW o AS (ORDER BY t, k ROWS UNBOUNDED PRECEDING)
    ) x
$$;
CREATE FUNCTION allocator_host_peak(p_node uuid, p_window tstzrange, OUT cores_milli bigint, OUT mib bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT coalesce(max(sum_cores), 0), coalesce(max(sum_mib), 0) FROM (
        SELECT sum(dc) OVER o AS sum_cores, sum(dm) OVER o AS sum_mib FROM (
            SELECT greatest(lower(s.period), lower(p_window)) AS t, s.cores_milli AS dc, s.host_mib AS dm, 1 AS k
              FROM allocator_segment s WHERE s.node_id = p_node AND s.period && p_window AND s.live
               AND (s.cores_milli > 0 OR s.host_mib > 0)
            UNION ALL
            SELECT upper(s.period), -s.cores_milli, -s.host_mib, 0
              FROM allocator_segment s WHERE s.node_id = p_node AND s.period && p_window AND s.live
               AND (s.cores_milli > 0 OR s.host_mib > 0)
        ) e WINDOW o AS (ORDER BY t, k ROWS UNBOUNDED PRECEDING)
    ) x
$$;
"""

# The host's row is bumped after the device's, for the same reason: under REPEATABLE READ a bare lock would overbook.
HOST = """
CREATE FUNCTION allocator_host_refusal(p_node uuid, p_cores bigint, p_mib bigint, p_period tstzrange) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    host allocator_nodehost%ROWTYPE;
    peak record;
BEGIN
    IF p_cores = 0 AND p_mib = 0 THEN
        RETURN NULL;
    END IF;
    UPDATE allocator_nodehost SET version = version + 1 WHERE node_id = p_node RETURNING * INTO host;
    SELECT * INTO peak FROM allocator_host_peak(p_node, p_period);
    RETURN CASE WHEN p_cores > 0 AND peak.cores_milli + p_cores > host.capacity_cores_milli THEN 'host_cores'
                WHEN p_mib > 0 AND peak.mib + p_mib > host.capacity_mib THEN 'host_memory' END;
END $$;
"""

REFUSAL = """
DROP FUNCTION allocator_refusal(allocator_device, integer, bigint, tstzrange, smallint);
CREATE FUNCTION allocator_refusal(
    device allocator_device, p_permille integer, p_mib bigint, p_period tstzrange, p_mode smallint, p_copy integer,
    p_slots int4range)
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
    IF p_slots IS NOT NULL AND EXISTS (
        SELECT 1 FROM allocator_segment s
         WHERE s.device_id = device.id AND s.period && p_period AND s.live AND s.slots && p_slots
    ) THEN
        RETURN 'mig_slot';
    END IF;
    SELECT * INTO peak FROM allocator_peak(device.id, p_period);
    no_compute := peak.permille + p_permille > device.capacity_permille;
    no_memory := peak.mib + p_mib > device.capacity_mib;
    RETURN CASE WHEN no_compute AND no_memory THEN 'memory_and_compute'
                WHEN no_compute THEN 'compute' WHEN no_memory THEN 'memory'
                WHEN peak.copy_permille + p_copy > 1000 THEN 'copy_bandwidth' END;
END $$;
"""

# As in 0002: a refusal rolls its own part back, and so lets go of the device and the host.
BOOK = """
DROP FUNCTION allocator_book(
    uuid, uuid, uuid, uuid, uuid, integer, bigint, tstzrange, boolean, timestamptz, timestamptz);
CREATE FUNCTION allocator_book(
    p_lease uuid, p_segment uuid, p_tenant uuid, p_owner uuid, p_device uuid, p_permille integer, p_mib bigint,
    p_period tstzrange, p_whole boolean, p_hold_until timestamptz, p_now timestamptz,
    p_copy integer DEFAULT 0, p_cores bigint DEFAULT 0, p_host_mib bigint DEFAULT 0, p_slots int4range DEFAULT NULL,
    OUT refusal text, OUT lapsed uuid[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    device allocator_device%ROWTYPE;
    mode smallint := CASE WHEN p_whole THEN 1 WHEN p_slots IS NOT NULL THEN 2 ELSE 0 END;
    first_state text := CASE WHEN p_hold_until IS NULL THEN 'assigned' ELSE 'held' END;
BEGIN
    UPDATE allocator_device SET version = version + 1 WHERE id = p_device RETURNING * INTO device;
    lapsed := allocator_lapse(p_device, p_now);
    IF p_whole THEN
        p_permille := device.capacity_permille;
        p_mib := device.capacity_mib;
        p_copy := 1000;
        p_slots := NULL;
    END IF;
    refusal := coalesce(
        allocator_refusal(device, p_permille, p_mib, p_period, mode, p_copy, p_slots),
        allocator_host_refusal(device.node_id, p_cores, p_host_mib, p_period));
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
        id, tenant_id, created_at, lease_id, device_id, permille, mib, device_mib, period, mode_class, live,
        copy_permille, cores_milli, host_mib, slots)
    VALUES (p_segment, p_tenant, p_now, p_lease, p_device, p_permille, p_mib, device.capacity_mib, p_period, mode, true,
        p_copy, p_cores, p_host_mib, p_slots);
    INSERT INTO allocator_leaseevent (id, tenant_id, created_at, lease_id, from_state, to_state, actor, reason, at)
    VALUES (gen_random_uuid(), p_tenant, p_now, p_lease, '', first_state, 'allocator', 'booked', p_now);
EXCEPTION WHEN SQLSTATE 'VX001' THEN
    refusal := SQLERRM;
    lapsed := '{}';
END $$;
"""

# A group that is booked together: devices by ascending id, then their hosts by ascending node, before the first booking.
# Two groups that cross then wait for each other in a line. A single booking holds one device when it asks for one host.
GANG = """
CREATE FUNCTION allocator_lock_group(p_devices uuid[], p_with_hosts boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM 1 FROM allocator_device WHERE id = ANY (p_devices) ORDER BY id FOR NO KEY UPDATE;
    UPDATE allocator_device SET version = version + 1 WHERE id = ANY (p_devices);
    IF p_with_hosts THEN
        PERFORM 1 FROM allocator_nodehost
          WHERE node_id IN (SELECT node_id FROM allocator_device WHERE id = ANY (p_devices))
          ORDER BY node_id FOR NO KEY UPDATE;
    END IF;
END $$;
"""

FENCE = """
CREATE OR REPLACE FUNCTION allocator_fence_segment() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    device allocator_device%ROWTYPE;
    peak record;
    host text;
BEGIN
    IF NOT NEW.live OR (TG_OP = 'UPDATE' AND OLD.live AND NEW.device_id = OLD.device_id
            AND NEW.permille <= OLD.permille AND NEW.mib <= OLD.mib AND NEW.copy_permille <= OLD.copy_permille
            AND NEW.cores_milli <= OLD.cores_milli AND NEW.host_mib <= OLD.host_mib
            AND NEW.period <@ OLD.period) THEN
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
    IF peak.copy_permille > 1000 THEN
        RAISE EXCEPTION 'device % would hold % permille of its link', NEW.device_id, peak.copy_permille
            USING ERRCODE = '23514', CONSTRAINT = 'segment_fits_link', TABLE = 'allocator_segment';
    END IF;
    IF NEW.cores_milli > 0 OR NEW.host_mib > 0 THEN
        UPDATE allocator_nodehost SET version = version + 1 WHERE node_id = device.node_id;
        SELECT CASE WHEN NEW.cores_milli > 0 AND p.cores_milli > h.capacity_cores_milli THEN 'cores'
                    WHEN NEW.host_mib > 0 AND p.mib > h.capacity_mib THEN 'memory' END INTO host
          FROM allocator_host_peak(device.node_id, NEW.period) p, allocator_nodehost h
         WHERE h.node_id = device.node_id;
        IF host IS NOT NULL THEN
            RAISE EXCEPTION 'node % would give away more % than it has', device.node_id, host
                USING ERRCODE = '23514', CONSTRAINT = 'segment_fits_host', TABLE = 'allocator_segment';
        END IF;
    END IF;
    RETURN NULL;
END $$;
"""

SWEEP = """
CREATE OR REPLACE FUNCTION allocator_sweep()
RETURNS TABLE (kind text, subject uuid, at timestamptz, found bigint, allowed bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH edges AS (
        SELECT device_id, lower(period) AS t, 1 AS k, permille::bigint AS dm, mib AS db, copy_permille::bigint AS dc
          FROM allocator_segment WHERE live
        UNION ALL
        SELECT device_id, upper(period), 0, -permille::bigint, -mib, -copy_permille::bigint
          FROM allocator_segment WHERE live
    ), sums AS (
        SELECT device_id, t, sum(dm) OVER o AS permille, sum(db) OVER o AS mib, sum(dc) OVER o AS copy FROM edges
        WINDOW o AS (PARTITION BY device_id ORDER BY t, k ROWS UNBOUNDED PRECEDING)
    ), host_edges AS (
        SELECT node_id, lower(period) AS t, 1 AS k, cores_milli AS dc, host_mib AS dm FROM allocator_segment
         WHERE live AND (cores_milli > 0 OR host_mib > 0)
        UNION ALL
        SELECT node_id, upper(period), 0, -cores_milli, -host_mib FROM allocator_segment
         WHERE live AND (cores_milli > 0 OR host_mib > 0)
    ), host_sums AS (
        SELECT node_id, t, sum(dc) OVER o AS cores, sum(dm) OVER o AS mib FROM host_edges
        WINDOW o AS (PARTITION BY node_id ORDER BY t, k ROWS UNBOUNDED PRECEDING)
    )
    SELECT 'compute', s.device_id, min(s.t), max(s.permille)::bigint, d.capacity_permille::bigint
      FROM sums s JOIN allocator_device d ON d.id = s.device_id
     WHERE s.permille > d.capacity_permille GROUP BY s.device_id, d.capacity_permille
    UNION ALL
    SELECT 'memory', s.device_id, min(s.t), max(s.mib)::bigint, d.capacity_mib
      FROM sums s JOIN allocator_device d ON d.id = s.device_id
     WHERE s.mib > d.capacity_mib GROUP BY s.device_id, d.capacity_mib
    UNION ALL
    SELECT 'copy_bandwidth', s.device_id, min(s.t), max(s.copy)::bigint, 1000 FROM sums s
     WHERE s.copy > 1000 GROUP BY s.device_id
    UNION ALL
    SELECT 'host_cores', s.node_id, min(s.t), max(s.cores)::bigint, h.capacity_cores_milli
      FROM host_sums s JOIN allocator_nodehost h ON h.node_id = s.node_id
     WHERE s.cores > h.capacity_cores_milli GROUP BY s.node_id, h.capacity_cores_milli
    UNION ALL
    SELECT 'host_memory', s.node_id, min(s.t), max(s.mib)::bigint, h.capacity_mib
      FROM host_sums s JOIN allocator_nodehost h ON h.node_id = s.node_id
     WHERE s.mib > h.capacity_mib GROUP BY s.node_id, h.capacity_mib
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

# What changed in the fleet, for pictures of it that are held in memory: rows with a transaction id from the oldest one
# that was still running at the last look on cannot have been seen then, and everything below was. So a reader that
# starts from there misses no late commit. Without a device: the node; without a node: everything.
CHANGES = """
CREATE TABLE allocator_change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, txid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at timestamptz NOT NULL DEFAULT now(), node_id uuid, device_id uuid);
CREATE INDEX allocator_change_since ON allocator_change (txid);
CREATE FUNCTION allocator_note_piece() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO allocator_change (node_id, device_id) VALUES (OLD.node_id, OLD.device_id);
        RETURN NULL;
    END IF;
    INSERT INTO allocator_change (node_id, device_id) VALUES (NEW.node_id, NEW.device_id);
    IF TG_OP = 'UPDATE' AND OLD.device_id <> NEW.device_id THEN
        INSERT INTO allocator_change (node_id, device_id) VALUES (OLD.node_id, OLD.device_id);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION allocator_note_node() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    changed jsonb := to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END);
BEGIN
    INSERT INTO allocator_change (node_id) VALUES ((changed ->> TG_ARGV[0])::uuid);
    RETURN NULL;
END $$;
CREATE FUNCTION allocator_note_all() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO allocator_change DEFAULT VALUES;
    RETURN NULL;
END $$;
CREATE TRIGGER segment_is_noted AFTER INSERT OR UPDATE OR DELETE ON allocator_segment
    FOR EACH ROW EXECUTE FUNCTION allocator_note_piece();
-- A hold that is confirmed or prolonged does not lapse.
CREATE TRIGGER lease_hold_is_noted AFTER UPDATE OF hold_until, state ON allocator_lease
    FOR EACH ROW WHEN (OLD.state = 'held') EXECUTE FUNCTION allocator_note_piece();
CREATE TRIGGER device_is_noted AFTER INSERT OR DELETE ON allocator_device
    FOR EACH ROW EXECUTE FUNCTION allocator_note_node('node_id');
CREATE TRIGGER device_change_is_noted AFTER UPDATE ON allocator_device FOR EACH ROW
    WHEN ((OLD.node_id, OLD.kind, OLD.model, OLD.is_present, OLD.capacity_mib, OLD.capacity_permille, OLD.isolation,
           OLD.card) IS DISTINCT FROM
          (NEW.node_id, NEW.kind, NEW.model, NEW.is_present, NEW.capacity_mib, NEW.capacity_permille, NEW.isolation,
           NEW.card))
    EXECUTE FUNCTION allocator_note_node('node_id');
CREATE TRIGGER node_is_noted AFTER INSERT OR DELETE ON allocator_node
    FOR EACH ROW EXECUTE FUNCTION allocator_note_node('id');
-- Whatever changes but the heartbeat's own columns.
CREATE TRIGGER node_change_is_noted AFTER UPDATE ON allocator_node FOR EACH ROW
    WHEN (to_jsonb(OLD) - '{last_seen_at,clock_offset_ms,boot_id,agent_version}'::text[] IS DISTINCT FROM
          to_jsonb(NEW) - '{last_seen_at,clock_offset_ms,boot_id,agent_version}'::text[])
    EXECUTE FUNCTION allocator_note_node('id');
CREATE TRIGGER host_is_noted AFTER UPDATE OF capacity_cores_milli, capacity_mib ON allocator_nodehost
    FOR EACH ROW EXECUTE FUNCTION allocator_note_node('node_id');
CREATE TRIGGER maintenance_is_noted AFTER INSERT OR UPDATE OR DELETE ON allocator_maintenance
    FOR EACH ROW EXECUTE FUNCTION allocator_note_node('node_id');
CREATE TRIGGER pool_is_noted AFTER UPDATE OR DELETE ON allocator_pool
    FOR EACH STATEMENT EXECUTE FUNCTION allocator_note_all();
CREATE TRIGGER site_is_noted AFTER UPDATE OR DELETE ON allocator_site
    FOR EACH STATEMENT EXECUTE FUNCTION allocator_note_all();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0008_vector")]
    operations: ClassVar = [
        migrations.RunSQL(
            [(part, None) for part in (BASE, PEAK, HOST, REFUSAL, BOOK, GANG, FENCE, SWEEP, CHANGES)],
            reverse_sql=migrations.RunSQL.noop,
        ),
    ]
