"""Transitions are noted once a statement, not once a row; their ids grow with time (UUIDv7), as before."""

from django.db import migrations

NOTE = """
DROP TRIGGER note_transition ON marketplace_reservation;
DROP FUNCTION marketplace_note_transition();
CREATE FUNCTION marketplace_note_transitions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO marketplace_reservation_event
            (id, tenant_id, reservation_id, version, from_state, to_state, actor, reason, at)
        SELECT uuidv7(), tenant_id, id, version, '', state, changed_by, change_reason, changed_at FROM came;
    ELSE
        INSERT INTO marketplace_reservation_event
            (id, tenant_id, reservation_id, version, from_state, to_state, actor, reason, at)
        SELECT uuidv7(), n.tenant_id, n.id, n.version, o.state, n.state, n.changed_by, n.change_reason, n.changed_at
          FROM came n JOIN went o ON o.id = n.id WHERE n.state <> o.state;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER note_transition AFTER UPDATE ON marketplace_reservation
    REFERENCING OLD TABLE AS went NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION marketplace_note_transitions();
CREATE TRIGGER note_first_state AFTER INSERT ON marketplace_reservation
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION marketplace_note_transitions();
"""


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0010_scaling")]
    operations = [migrations.RunSQL(NOTE, migrations.RunSQL.noop)]
