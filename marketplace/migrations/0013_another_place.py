"""A lost place and another one are one statement: the row goes by way of `moving`, and both steps are noted."""

from importlib import import_module
from typing import ClassVar

from django.db import migrations

_BEFORE = import_module("marketplace.migrations.0008_queue")

# As in 0008. Two up, on another lease, is two moves.
GUARD_STATE = _BEFORE.GUARD_STATE.replace(
    "    ELSIF NEW.state <> OLD.state THEN",
    f"""    ELSIF NEW.version = OLD.version + 2 AND NEW.lease_id <> OLD.lease_id THEN
        IF (OLD.state || '>moving') <> ALL (ARRAY{_BEFORE.MOVES!r}) OR
           ('moving>' || NEW.state) <> ALL (ARRAY{_BEFORE.MOVES!r}) THEN
            RAISE EXCEPTION 'a reservation does not move from % to % by way of moving', OLD.state, NEW.state
                USING ERRCODE = 'check_violation', CONSTRAINT = 'reservation_moves';
        END IF;
    ELSIF NEW.state <> OLD.state THEN""",
)
# As in 0011.
NOTE = """
CREATE OR REPLACE FUNCTION marketplace_note_transitions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO marketplace_reservation_event
            (id, tenant_id, reservation_id, version, from_state, to_state, actor, reason, at)
        SELECT uuidv7(), tenant_id, id, version, '', state, changed_by, change_reason, changed_at FROM came;
    ELSE
        INSERT INTO marketplace_reservation_event
            (id, tenant_id, reservation_id, version, from_state, to_state, actor, reason, at)
        SELECT uuidv7(), n.tenant_id, n.id, m.version, m.from_state, m.to_state, n.changed_by, n.change_reason,
               n.changed_at
          FROM came n JOIN went o ON o.id = n.id,
               LATERAL (VALUES (1, o.version + 1, o.state, CASE n.version WHEN o.version + 2 THEN 'moving'
                                                                          ELSE n.state END),
                               (2, o.version + 2, 'moving', n.state)) m (step, version, from_state, to_state)
         WHERE m.step <= n.version - o.version;
    END IF;
    RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("marketplace", "0012_fewer_indexes")]
    operations: ClassVar = [
        migrations.RunSQL(GUARD_STATE, _BEFORE.GUARD_STATE),
        migrations.RunSQL(NOTE, migrations.RunSQL.noop),
    ]
