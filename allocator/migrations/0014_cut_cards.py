"""A card that its hardware has cut takes no time-shared piece: the database says so itself. See docs/placement.md."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

CUT = """
CREATE FUNCTION allocator_is_cut(device allocator_device) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = public, pg_temp AS $$
    SELECT coalesce((device.card -> 'mig' ->> 'enabled')::boolean, false)
$$;
"""

# As in 0009, and a piece without slots is none of a cut card. Then no legal start was named: `mig_slot`.
REFUSAL = """
CREATE OR REPLACE FUNCTION allocator_refusal(
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
           AND NOT (p_mode = 0 AND allocator_is_cut(device))
    ) THEN
        RETURN CASE WHEN p_mode = 1 THEN 'in_use' ELSE 'taken_whole' END;
    END IF;
    IF (p_mode = 0 AND allocator_is_cut(device)) OR (p_slots IS NOT NULL AND EXISTS (
        SELECT 1 FROM allocator_segment s
         WHERE s.device_id = device.id AND s.period && p_period AND s.live AND s.slots && p_slots
    )) THEN
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

# On every path, whatever wrote it. A piece that was there before the card was cut keeps its size and may be given
# another end: its agent has it until then.
FENCE = """
CREATE FUNCTION allocator_fence_cut() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM allocator_device d WHERE d.id = NEW.device_id AND allocator_is_cut(d)) THEN
        RAISE EXCEPTION 'device % is cut by its hardware and takes no shared piece', NEW.device_id
            USING ERRCODE = '23514', CONSTRAINT = 'segment_shared_on_a_cut_card', TABLE = 'allocator_segment';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER segment_shared_on_a_cut_card BEFORE INSERT OR UPDATE OF device_id, mode_class ON allocator_segment
    FOR EACH ROW WHEN (NEW.live AND NEW.mode_class = 0) EXECUTE FUNCTION allocator_fence_cut();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0013_simulation")]
    operations: ClassVar = [
        migrations.RunSQL([(part, None) for part in (CUT, REFUSAL, FENCE)], reverse_sql=migrations.RunSQL.noop),
    ]
