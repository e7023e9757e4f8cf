"""A lease may go by way of `unreachable` in one statement: two up is two moves, the second of them to `lost`. And what
was lost goes on from now, if its place was looked for earlier."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.db import migrations

_BEFORE = import_module("allocator.migrations.0016_batches")
_BOOK = _BEFORE.BOOK.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
BOOK = (
    _BOOK.replace("t.starts_at, t.ends_at,", "greatest(t.starts_at, p_now) AS starts_at, t.ends_at,")
    .replace("range(t.starts_at,", "range(greatest(t.starts_at, p_now),")
    .replace("range(one.starts_at,", "range(greatest(one.starts_at, p_now),")
    .replace("ON d.id = t.device", "ON d.id = t.device AND d.id = ANY (devices)")  # by its index, whatever is guessed
)

# As in 0002 else.
CHECK = """
CREATE OR REPLACE FUNCTION allocator_check_move() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    old_state text := CASE WHEN TG_OP = 'INSERT' THEN '' ELSE OLD.state END;
BEGIN
    IF NEW.state <> old_state AND NOT NEW.state = ANY (allocator_lease_moves(old_state))
       AND NOT (TG_OP = 'UPDATE' AND NEW.state = 'lost' AND NEW.version = OLD.version + 2
                AND 'unreachable' = ANY (allocator_lease_moves(old_state))) THEN
        RAISE EXCEPTION 'lease %: % -> % is not a legal move', NEW.id, old_state, NEW.state
            USING ERRCODE = '23514', CONSTRAINT = 'lease_legal_move', TABLE = 'allocator_lease';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.token < OLD.token THEN
        RAISE EXCEPTION 'lease %: a fencing token never goes back', NEW.id
            USING ERRCODE = '23514', CONSTRAINT = 'lease_token_grows', TABLE = 'allocator_lease';
    END IF;
    RETURN NEW;
END $$;
"""

# One look at the device for both: the node beside it, and whether it takes shared pieces (0009, 0014).
FILL = """
DROP TRIGGER segment_fills_node ON allocator_segment;
DROP TRIGGER segment_shared_on_a_cut_card ON allocator_segment;
DROP FUNCTION allocator_fence_cut();
CREATE OR REPLACE FUNCTION allocator_fill_segment() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    device allocator_device;
BEGIN
    SELECT * INTO device FROM allocator_device WHERE id = NEW.device_id;
    NEW.node_id := device.node_id;
    IF NEW.live AND NEW.mode_class = 0 AND allocator_is_cut(device) AND (TG_OP = 'INSERT'
       OR NEW.device_id <> OLD.device_id OR NEW.mode_class <> OLD.mode_class) THEN
        RAISE EXCEPTION 'device % is cut by its hardware and takes no shared piece', NEW.device_id
            USING ERRCODE = '23514', CONSTRAINT = 'segment_shared_on_a_cut_card', TABLE = 'allocator_segment';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER segment_fills_node BEFORE INSERT OR UPDATE OF device_id, node_id, mode_class ON allocator_segment
    FOR EACH ROW EXECUTE FUNCTION allocator_fill_segment();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("allocator", "0017_fewer_indexes")]
    operations: ClassVar = [
        migrations.RunSQL(CHECK, reverse_sql=migrations.RunSQL.noop),
        migrations.RunSQL(BOOK, reverse_sql=_BOOK),
        migrations.RunSQL(FILL, reverse_sql=migrations.RunSQL.noop),
    ]
