"""Bookings by set: many claims in one statement, and guards of segments that look once a statement, not once a row."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

# As in 0009, for all rows of a statement at once. The devices, then the hosts, are bumped in the order of their ids. A
# peak is reached where something begins, so only there is it compared: inside what is new, for a device that shrank may
# hold more at other times.
FENCE = """
DROP TRIGGER segment_fits_device ON allocator_segment;
DROP FUNCTION allocator_fence_segment();
CREATE FUNCTION allocator_fence_segments() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    fresh uuid[];
    devices uuid[];
    hosts uuid[];
    bad record;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(id), array_agg(DISTINCT device_id),
               array_agg(DISTINCT node_id) FILTER (WHERE cores_milli > 0 OR host_mib > 0)
          INTO fresh, devices, hosts FROM came WHERE live;
    ELSE
        SELECT array_agg(n.id), array_agg(DISTINCT n.device_id),
               array_agg(DISTINCT n.node_id) FILTER (WHERE n.cores_milli > 0 OR n.host_mib > 0)
          INTO fresh, devices, hosts FROM came n
         WHERE n.live AND NOT EXISTS (
            SELECT 1 FROM went o WHERE o.id = n.id AND o.live AND n.device_id = o.device_id
               AND n.permille <= o.permille AND n.mib <= o.mib AND n.copy_permille <= o.copy_permille
               AND n.cores_milli <= o.cores_milli AND n.host_mib <= o.host_mib AND n.period <@ o.period);
    END IF;
    IF fresh IS NULL THEN
        RETURN NULL;
    END IF;
    -- Once more after the booking function's own: the fence trusts nobody.
    IF cardinality(devices) > 1 THEN
        PERFORM 1 FROM allocator_device WHERE id = ANY (devices) ORDER BY id FOR NO KEY UPDATE;
    END IF;
    UPDATE allocator_device SET version = version + 1 WHERE id = ANY (devices);
    IF TG_OP = 'UPDATE' THEN
        SELECT n.device_id INTO bad FROM unnest(fresh) f (id) JOIN came n USING (id) JOIN went o USING (id)
         WHERE upper(o.period) IS NOT NULL
           AND (upper(n.period) IS NULL OR upper(n.period) > upper(o.period))
           AND allocator_closed(n.node_id, tstzrange(upper(o.period), upper(n.period))) = 'maintenance' LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'the node of device % goes into maintenance before that', bad.device_id
                USING ERRCODE = '23514', CONSTRAINT = 'segment_before_maintenance', TABLE = 'allocator_segment';
        END IF;
    END IF;
    IF cardinality(fresh) = 1 THEN
        SELECT d.id, p.permille, p.mib, p.copy_permille AS copy,
               p.permille > d.capacity_permille OR p.mib > d.capacity_mib AS is_full INTO bad
          FROM came n JOIN allocator_device d ON d.id = n.device_id, allocator_peak(n.device_id, n.period) p
         WHERE n.id = fresh[1]
           AND (p.permille > d.capacity_permille OR p.mib > d.capacity_mib OR p.copy_permille > 1000);
    ELSE
        WITH new AS MATERIALIZED (
            SELECT device_id, period FROM came JOIN unnest(fresh) f (id) USING (id)
        ), spans AS (
            SELECT device_id, range_merge(range_agg(period)) AS span FROM new GROUP BY device_id
        ), pieces AS MATERIALIZED (
            SELECT s.device_id, greatest(lower(s.period), lower(w.span)) AS since, upper(s.period) AS until, s.permille,
                   s.mib, s.copy_permille::integer AS copy
              FROM spans w JOIN allocator_segment s ON s.device_id = w.device_id AND s.period && w.span AND s.live
        ), sums AS (
            SELECT device_id, t, k, sum(dm) OVER o AS permille, sum(db) OVER o AS mib, sum(dc) OVER o AS copy FROM (
                SELECT device_id, since AS t, 1 AS k, permille AS dm, mib AS db, copy AS dc FROM pieces
                UNION ALL
                SELECT device_id, until, 0, -permille, -mib, -copy FROM pieces
            ) e WINDOW o AS (PARTITION BY device_id ORDER BY t, k ROWS UNBOUNDED PRECEDING)
        )
        SELECT d.id, s.permille, s.mib::bigint, s.copy,
               s.permille > d.capacity_permille OR s.mib > d.capacity_mib AS is_full INTO bad
          FROM sums s JOIN allocator_device d ON d.id = s.device_id
         WHERE s.k = 1 AND (s.permille > d.capacity_permille OR s.mib > d.capacity_mib OR s.copy > 1000)
           AND EXISTS (SELECT 1 FROM new n WHERE n.device_id = s.device_id AND s.t <@ n.period)
         ORDER BY is_full DESC LIMIT 1;
    END IF;
    IF FOUND AND bad.is_full THEN
        RAISE EXCEPTION 'device % would hold % permille and % MiB', bad.id, bad.permille, bad.mib
            USING ERRCODE = '23514', CONSTRAINT = 'segment_fits_device', TABLE = 'allocator_segment';
    ELSIF FOUND THEN
        RAISE EXCEPTION 'device % would hold % permille of its link', bad.id, bad.copy
            USING ERRCODE = '23514', CONSTRAINT = 'segment_fits_link', TABLE = 'allocator_segment';
    END IF;
    IF hosts IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM 1 FROM allocator_nodehost WHERE node_id = ANY (hosts) ORDER BY node_id FOR NO KEY UPDATE;
    UPDATE allocator_nodehost SET version = version + 1 WHERE node_id = ANY (hosts);
    SELECT n.node_id, CASE WHEN n.cores_milli > 0 AND p.cores_milli > h.capacity_cores_milli THEN 'cores'
                           WHEN n.host_mib > 0 AND p.mib > h.capacity_mib THEN 'memory' END AS lacks INTO bad
      FROM unnest(fresh) f (id) JOIN came n USING (id) JOIN allocator_nodehost h USING (node_id),
           allocator_host_peak(n.node_id, n.period) p
     WHERE n.cores_milli > 0 AND p.cores_milli > h.capacity_cores_milli
        OR n.host_mib > 0 AND p.mib > h.capacity_mib LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'node % would give away more % than it has', bad.node_id, bad.lacks
            USING ERRCODE = '23514', CONSTRAINT = 'segment_fits_host', TABLE = 'allocator_segment';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER segment_fits_device AFTER INSERT ON allocator_segment
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION allocator_fence_segments();
CREATE TRIGGER segment_still_fits AFTER UPDATE ON allocator_segment
    REFERENCING OLD TABLE AS went NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION allocator_fence_segments();
"""

NOTED = """
DROP TRIGGER segment_is_noted ON allocator_segment;
CREATE FUNCTION allocator_note_pieces() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO allocator_change (node_id, device_id) SELECT DISTINCT node_id, device_id FROM came;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO allocator_change (node_id, device_id) SELECT DISTINCT node_id, device_id FROM went;
    ELSE
        INSERT INTO allocator_change (node_id, device_id)
            SELECT node_id, device_id FROM came UNION SELECT node_id, device_id FROM went;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER segment_is_noted AFTER INSERT ON allocator_segment
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION allocator_note_pieces();
CREATE TRIGGER segment_change_is_noted AFTER UPDATE ON allocator_segment
    REFERENCING OLD TABLE AS went NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION allocator_note_pieces();
CREATE TRIGGER segment_end_is_noted AFTER DELETE ON allocator_segment
    REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION allocator_note_pieces();
"""

# As in 0002, but a booking that finds no hold to end writes nothing.
LAPSE = """
CREATE OR REPLACE FUNCTION allocator_lapse(p_device uuid, p_now timestamptz) RETURNS uuid[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    ended uuid[];
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM allocator_lease WHERE device_id = p_device AND state = 'held' AND hold_until <= p_now
    ) THEN
        RETURN '{}';
    END IF;
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
    SELECT coalesce(array_agg(id), '{}') INTO ended FROM gone;
    RETURN ended;
END $$;
"""

# What was lost, at other places: nodes that stand by are open to it. All claims that the fence grants together go in by
# one statement. Where it grants them not, or a device is closed, `allocator_book` has the last word on each for itself,
# in their order: a refusal loses no other. `p_claims`: an array of objects, by ascending device.
BOOK = """
CREATE FUNCTION allocator_book_lost(p_claims jsonb, p_now timestamptz, OUT refusals jsonb, OUT lapsed uuid[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    devices uuid[];
    with_hosts boolean;
    won uuid[] := '{}';
    held_on uuid;
    one record;
    booked record;
BEGIN
    refusals := '{}';
    lapsed := '{}';
    PERFORM set_config('vxpu.failover', 'on', true);
    SELECT array_agg(DISTINCT t.device), bool_or(t.cores > 0 OR t.host_mib > 0) INTO devices, with_hosts
      FROM jsonb_to_recordset(p_claims) AS t (device uuid, cores bigint, host_mib bigint);
    PERFORM allocator_lock_group(devices, with_hosts);
    FOR held_on IN SELECT DISTINCT device_id FROM allocator_lease
                  WHERE device_id = ANY (devices) AND state = 'held' AND hold_until <= p_now ORDER BY device_id LOOP
        lapsed := lapsed || allocator_lapse(held_on, p_now);
    END LOOP;
    BEGIN
        WITH asked AS MATERIALIZED (
            SELECT t.lease, t.segment, t.tenant, t.owner, d.id AS device, d.node_id AS node, t.starts_at, t.ends_at,
                   t.whole, t.cores, t.host_mib, t.wanted, d.isolation, d.capacity_mib,
                   CASE WHEN t.whole THEN d.capacity_permille ELSE t.permille END AS permille,
                   CASE WHEN t.whole THEN d.capacity_mib ELSE t.mib END AS mib,
                   CASE WHEN t.whole THEN 1000 ELSE t.copy END AS copy,
                   CASE WHEN t.first_slot IS NOT NULL AND NOT t.whole
                        THEN int4range(t.first_slot, t.end_slot) END AS slots
              FROM jsonb_to_recordset(p_claims) AS t (
                       lease uuid, segment uuid, tenant uuid, owner uuid, device uuid, permille integer, mib bigint,
                       starts_at timestamptz, ends_at timestamptz, whole boolean, copy integer, cores bigint,
                       host_mib bigint, first_slot integer, end_slot integer, wanted jsonb)
              JOIN allocator_device d ON d.id = t.device
              JOIN allocator_node n ON n.id = d.node_id
             WHERE d.is_present AND n.state = 'active' AND n.is_online
               AND allocator_closed(n.id, tstzrange(t.starts_at, t.ends_at)) IS NULL
        ), leased AS (
            INSERT INTO allocator_lease (
                id, tenant_id, created_at, owner, device_id, node_id, state, share_permille, memory_mib, whole,
                isolation, token, version, starts_at, ends_at, end_reason, wanted)
            SELECT lease, tenant, p_now, owner, device, node, 'assigned', permille, mib, whole,
                   CASE WHEN whole THEN 'exclusive' ELSE isolation END, nextval('allocator_fencing'), 1, starts_at,
                   ends_at, '', wanted
              FROM asked RETURNING id
        ), pieces AS (
            INSERT INTO allocator_segment (
                id, tenant_id, created_at, lease_id, device_id, permille, mib, device_mib, period, mode_class, live,
                copy_permille, cores_milli, host_mib, slots)
            SELECT segment, tenant, p_now, lease, device, permille, mib, capacity_mib, tstzrange(starts_at, ends_at),
                   CASE WHEN whole THEN 1 WHEN slots IS NOT NULL THEN 2 ELSE 0 END, true, copy, cores, host_mib, slots
              FROM asked
        ), noted AS (
            INSERT INTO allocator_leaseevent (
                id, tenant_id, created_at, lease_id, from_state, to_state, actor, reason, at)
            SELECT gen_random_uuid(), tenant, p_now, lease, '', 'assigned', 'allocator', 'booked', p_now FROM asked
        )
        SELECT coalesce(array_agg(id), '{}') INTO won FROM leased;
    EXCEPTION WHEN check_violation OR exclusion_violation THEN
        won := '{}';
    END;
    IF cardinality(won) < jsonb_array_length(p_claims) THEN
        FOR one IN SELECT t.* FROM jsonb_to_recordset(p_claims) AS t (
                       lease uuid, segment uuid, tenant uuid, owner uuid, device uuid, permille integer, mib bigint,
                       starts_at timestamptz, ends_at timestamptz, whole boolean, copy integer, cores bigint,
                       host_mib bigint, first_slot integer, end_slot integer, wanted jsonb)
                    WHERE t.lease <> ALL (won) LOOP
            SELECT * INTO booked FROM allocator_book(
                one.lease, one.segment, one.tenant, one.owner, one.device, one.permille, one.mib,
                tstzrange(one.starts_at, one.ends_at), one.whole, NULL, p_now, one.copy, one.cores, one.host_mib,
                CASE WHEN one.first_slot IS NOT NULL THEN int4range(one.first_slot, one.end_slot) END, one.wanted);
            lapsed := lapsed || booked.lapsed;
            IF booked.refusal IS NOT NULL THEN
                refusals := refusals || jsonb_build_object(one.lease, booked.refusal);
            END IF;
        END LOOP;
    END IF;
    PERFORM set_config('vxpu.failover', '', true);
END $$;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0015_pool_limits")]
    operations: ClassVar = [
        # Expand only: the same rules, and one more function.
        migrations.RunSQL([(FENCE, None), (NOTED, None), (LAPSE, None), (BOOK, None)], reverse_sql=migrations.RunSQL.noop),
    ]
