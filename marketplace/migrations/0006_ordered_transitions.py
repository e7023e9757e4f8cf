"""Ids of transitions grow with time (UUIDv7 with microseconds): two of one instant then read in their order."""

from django.db import migrations

NOTE = """
CREATE OR REPLACE FUNCTION marketplace_note_transition() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    micros bigint := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
BEGIN
    IF TG_OP = 'INSERT' OR NEW.state <> OLD.state THEN
        INSERT INTO marketplace_reservation_event
            (id, tenant_id, reservation_id, version, from_state, to_state, actor, reason, at)
        VALUES ((lpad(to_hex(micros / 1000), 12, '0') || '7' || lpad(to_hex(micros % 1000 * 4), 3, '0') || '8'
                 || substr(replace(gen_random_uuid()::text, '-', ''), 1, 15))::uuid,
                NEW.tenant_id, NEW.id, NEW.version,
                CASE WHEN TG_OP = 'INSERT' THEN '' ELSE OLD.state END,
                NEW.state, NEW.changed_by, NEW.change_reason, NEW.changed_at);
    END IF;
    RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0005_transition_index")]
    operations = [migrations.RunSQL(NOTE, migrations.RunSQL.noop)]
