"""What the database itself refuses: other state moves, changed prices, other tenants' rows. Events by trigger."""

from django.db import migrations

from plumbing.rowsec import AppendOnly, EnableRowSecurity

# Frozen here on purpose: a migration does not follow the code. A test compares this with models.ALLOWED.
MOVES = """
    quoted>queued quoted>held quoted>confirmed quoted>expired quoted>rejected quoted>cancelled
    queued>held queued>confirmed queued>expired queued>rejected queued>cancelled
    held>awaiting_approval held>confirmed held>expired held>rejected held>cancelled
    awaiting_approval>confirmed awaiting_approval>expired awaiting_approval>rejected awaiting_approval>cancelled
    confirmed>activating confirmed>resizing confirmed>moving confirmed>cancelled confirmed>no_show confirmed>failed
    activating>active activating>resizing activating>moving activating>ending activating>cancelled
    activating>no_show activating>failed
    active>resizing active>suspended active>preempting active>moving active>ending active>failed
    resizing>confirmed resizing>activating resizing>active
    suspended>active suspended>moving suspended>ending suspended>failed
    preempting>preempted preempting>ending preempting>failed
    preempted>queued preempted>cancelled
    moving>confirmed moving>activating moving>active moving>ending moving>failed
    ending>completed ending>failed
""".split()

GUARD_STATE = f"""
CREATE FUNCTION marketplace_guard_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state NOT IN ('quoted', 'queued', 'held', 'confirmed') OR NEW.version <> 1 THEN
            RAISE EXCEPTION 'a reservation does not begin as % (version %)', NEW.state, NEW.version
                USING ERRCODE = 'check_violation', CONSTRAINT = 'reservation_moves';
        END IF;
    ELSIF NEW.state <> OLD.state THEN
        IF (OLD.state || '>' || NEW.state) <> ALL (ARRAY{MOVES!r}) THEN
            RAISE EXCEPTION 'a reservation does not move from % to %', OLD.state, NEW.state
                USING ERRCODE = 'check_violation', CONSTRAINT = 'reservation_moves';
        END IF;
        IF NEW.version <> OLD.version + 1 THEN
            RAISE EXCEPTION 'a move counts the version up by one'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'reservation_moves';
        END IF;
    ELSIF NEW.version <> OLD.version THEN
        RAISE EXCEPTION 'the version counts moves only'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'reservation_moves';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guard_state BEFORE INSERT OR UPDATE ON marketplace_reservation
    FOR EACH ROW EXECUTE FUNCTION marketplace_guard_state();

CREATE FUNCTION marketplace_note_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.state <> OLD.state THEN
        INSERT INTO marketplace_reservation_event
            (id, tenant_id, reservation_id, version, from_state, to_state, actor, reason, at)
        VALUES (gen_random_uuid(), NEW.tenant_id, NEW.id, NEW.version,
                CASE WHEN TG_OP = 'INSERT' THEN '' ELSE OLD.state END,
                NEW.state, NEW.changed_by, NEW.change_reason, NEW.changed_at);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER note_transition AFTER INSERT OR UPDATE ON marketplace_reservation
    FOR EACH ROW EXECUTE FUNCTION marketplace_note_transition();
"""

DROP_STATE = """
DROP TRIGGER note_transition ON marketplace_reservation;
DROP TRIGGER guard_state ON marketplace_reservation;
DROP FUNCTION marketplace_note_transition();
DROP FUNCTION marketplace_guard_state();
"""

# Five seconds of grace: the end that a service sets is its own clock's "now" or later.
GUARD_PRICE = """
CREATE FUNCTION marketplace_guard_price() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF lower(OLD.valid) > now() THEN
        RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'a price that has started stays'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'price_started';
    END IF;
    IF (NEW.id, NEW.tenant_id, NEW.book_id, NEW.scope, NEW.currency, NEW.sku, NEW.meter, NEW.unit_price, NEW.created_at,
        lower(NEW.valid)) IS DISTINCT FROM
       (OLD.id, OLD.tenant_id, OLD.book_id, OLD.scope, OLD.currency, OLD.sku, OLD.meter, OLD.unit_price, OLD.created_at,
        lower(OLD.valid))
       OR upper(OLD.valid) <= now()
       OR upper(NEW.valid) IS NULL
       OR upper(NEW.valid) < now() - interval '5 seconds' THEN
        RAISE EXCEPTION 'of a price that has started only the end may be set, and not into the past'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'price_started';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guard_price BEFORE UPDATE OR DELETE ON marketplace_price
    FOR EACH ROW EXECUTE FUNCTION marketplace_guard_price();
"""

DROP_PRICE = """
DROP TRIGGER guard_price ON marketplace_price;
DROP FUNCTION marketplace_guard_price();
"""

# The peak of a tenant's overlapping reservations is summed at each reserve, resize and extend.
QUOTA_INDEX = """
CREATE INDEX reservation_taking ON marketplace_reservation USING gist (tenant_id, tstzrange(starts_at, ends_at))
    WHERE state IN ('held', 'awaiting_approval', 'confirmed', 'activating', 'active', 'resizing', 'suspended',
                    'preempting', 'moving', 'ending')
"""

TABLES = ("slice_profile", "offer", "price_book", "price", "quota", "reservation", "reservation_event", "placement")


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0001_first")]

    operations = [
        migrations.RunSQL(GUARD_STATE, DROP_STATE),
        migrations.RunSQL(GUARD_PRICE, DROP_PRICE),
        migrations.RunSQL(QUOTA_INDEX, "DROP INDEX reservation_taking"),
        AppendOnly("marketplace_reservation_event"),
        *(EnableRowSecurity(f"marketplace_{table}") for table in TABLES),
    ]
