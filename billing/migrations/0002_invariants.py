"""What the database refuses, whatever the code does. Refusals carry SQLSTATE 23001, wrong sums 23514.

Functions that must see all rows of an account run as their owner, whom row-level security exempts: deferred triggers
fire at commit, where the caller's scope may be gone already.
"""

from django.db import migrations

from plumbing.rowsec import AppendOnly, EnableRowSecurity

TABLES = [
    "billing_account", "billing_period", "billing_charge", "billing_ledger_account", "billing_txn", "billing_entry",
    "billing_invoice", "billing_invoice_line", "billing_number_series",
]

REFUSE = """
CREATE FUNCTION billing_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % refused', TG_OP, TG_TABLE_NAME USING ERRCODE = '23001';
END $$;
CREATE TRIGGER billing_charge_kept BEFORE DELETE ON billing_charge FOR EACH ROW EXECUTE FUNCTION billing_refuse();
CREATE TRIGGER billing_charge_no_truncate BEFORE TRUNCATE ON billing_charge EXECUTE FUNCTION billing_refuse();
CREATE TRIGGER billing_period_kept BEFORE DELETE ON billing_period FOR EACH ROW EXECUTE FUNCTION billing_refuse();
CREATE TRIGGER billing_period_no_truncate BEFORE TRUNCATE ON billing_period EXECUTE FUNCTION billing_refuse();
CREATE TRIGGER billing_invoice_no_truncate BEFORE TRUNCATE ON billing_invoice EXECUTE FUNCTION billing_refuse();
CREATE TRIGGER billing_line_no_truncate BEFORE TRUNCATE ON billing_invoice_line EXECUTE FUNCTION billing_refuse();
CREATE TRIGGER billing_series_kept BEFORE DELETE ON billing_number_series
    FOR EACH ROW EXECUTE FUNCTION billing_refuse();
CREATE TRIGGER billing_series_no_truncate BEFORE TRUNCATE ON billing_number_series EXECUTE FUNCTION billing_refuse();
"""
UNREFUSE = "DROP FUNCTION billing_refuse() CASCADE"

CHARGE = """
CREATE FUNCTION billing_charge_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wanted billing_charge := OLD;
BEGIN
    IF OLD.invoice_id IS NULL THEN
        wanted.invoice_id := NEW.invoice_id;
    END IF;
    IF pg_trigger_depth() > 1 THEN  -- only the insert of a reversal supersedes
        wanted.superseded := NEW.superseded;
    END IF;
    IF NEW IS DISTINCT FROM wanted THEN
        RAISE EXCEPTION 'a charge is not changed: reverse it' USING ERRCODE = '23001';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER billing_charge_fixed BEFORE UPDATE ON billing_charge
    FOR EACH ROW EXECUTE FUNCTION billing_charge_fixed();

CREATE FUNCTION billing_charge_reverse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE billing_charge SET superseded = true
        WHERE id = NEW.reverses_id AND NOT superseded AND reverses_id IS NULL
          AND (tenant_id, account_id, source, bucket, kind, starts_at, ends_at, divisor, unit_price, price_id)
            = (NEW.tenant_id, NEW.account_id, NEW.source, NEW.bucket, NEW.kind, NEW.starts_at, NEW.ends_at,
               NEW.divisor, NEW.unit_price, NEW.price_id)
          AND quantity = -NEW.quantity AND text = NEW.text AND simulated = NEW.simulated;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'a reversal takes back one live charge whole' USING ERRCODE = '23514';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER billing_charge_reverse AFTER INSERT ON billing_charge
    FOR EACH ROW WHEN (NEW.reverses_id IS NOT NULL) EXECUTE FUNCTION billing_charge_reverse();
"""
UNCHARGE = "DROP FUNCTION billing_charge_fixed() CASCADE; DROP FUNCTION billing_charge_reverse() CASCADE"

LEDGER = """
CREATE FUNCTION billing_check_txn(wanted uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    txn billing_txn;
    entries bigint;
    strangers bigint;
BEGIN
    SELECT * INTO txn FROM billing_txn WHERE id = wanted;
    SELECT count(*), count(*) FILTER (WHERE e.currency <> a.currency OR a.account_id <> txn.account_id
                                         OR e.tenant_id <> txn.tenant_id)
        INTO entries, strangers
        FROM billing_entry e JOIN billing_ledger_account a ON a.id = e.ledger_account_id WHERE e.txn_id = wanted;
    IF entries IS DISTINCT FROM txn.entry_count THEN
        RAISE EXCEPTION 'transaction % has % entries, not %', wanted, entries, txn.entry_count USING ERRCODE = '23514';
    END IF;
    IF strangers > 0 THEN
        RAISE EXCEPTION 'transaction % has entries of another account or currency', wanted USING ERRCODE = '23514';
    END IF;
    IF EXISTS (SELECT 1 FROM billing_entry WHERE txn_id = wanted GROUP BY currency HAVING sum(amount) <> 0) THEN
        RAISE EXCEPTION 'transaction % does not add up to zero', wanted USING ERRCODE = '23514';
    END IF;
END $$;

CREATE FUNCTION billing_txn_balanced() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM billing_check_txn(NEW.id);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER billing_txn_balanced AFTER INSERT ON billing_txn
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION billing_txn_balanced();

CREATE FUNCTION billing_entry_balanced() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM billing_check_txn(NEW.txn_id);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER billing_entry_balanced AFTER INSERT ON billing_entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION billing_entry_balanced();

CREATE FUNCTION billing_txn_in_open_period() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    -- Closing holds this row FOR NO KEY UPDATE: a posting waits for it, then sees the closed period.
    PERFORM 1 FROM billing_account WHERE id = NEW.account_id FOR SHARE;
    IF EXISTS (SELECT 1 FROM billing_period WHERE account_id = NEW.account_id AND state = 'closed'
                  AND starts_at <= NEW.posted_at AND NEW.posted_at < ends_at) THEN
        RAISE EXCEPTION 'nothing is posted into a closed period' USING ERRCODE = '23001';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER billing_txn_in_open_period BEFORE INSERT ON billing_txn
    FOR EACH ROW EXECUTE FUNCTION billing_txn_in_open_period();
"""
UNLEDGER = """
DROP FUNCTION billing_txn_in_open_period() CASCADE;
DROP FUNCTION billing_entry_balanced() CASCADE;
DROP FUNCTION billing_txn_balanced() CASCADE;
DROP FUNCTION billing_check_txn(uuid);
"""

PERIOD = """
CREATE FUNCTION billing_period_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wanted billing_period := OLD;
BEGIN
    wanted.state := NEW.state;
    wanted.closed_at := NEW.closed_at;
    IF OLD.state = 'closed' OR NEW IS DISTINCT FROM wanted THEN
        RAISE EXCEPTION 'a closed period and the range of any period stay as they are' USING ERRCODE = '23001';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER billing_period_fixed BEFORE UPDATE ON billing_period
    FOR EACH ROW EXECUTE FUNCTION billing_period_fixed();

CREATE FUNCTION billing_series_steps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.name <> OLD.name OR NEW.last_number <> OLD.last_number + 1 THEN
        RAISE EXCEPTION 'a number series goes up by one' USING ERRCODE = '23001';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER billing_series_steps BEFORE UPDATE ON billing_number_series
    FOR EACH ROW EXECUTE FUNCTION billing_series_steps();
INSERT INTO billing_number_series (id, tenant_id, created_at, name, last_number)
    VALUES (gen_random_uuid(), '00000000-0000-0000-0000-000000000000', now(), 'INV', 0);
"""
UNPERIOD = "DROP FUNCTION billing_period_fixed() CASCADE; DROP FUNCTION billing_series_steps() CASCADE"

INVOICE = """
CREATE FUNCTION billing_invoice_issue(invoice billing_invoice) RETURNS void LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF invoice.total <> (SELECT coalesce(sum(amount), 0) FROM billing_invoice_line WHERE invoice_id = invoice.id) THEN
        RAISE EXCEPTION 'the total is not the sum of the lines' USING ERRCODE = '23514';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM billing_number_series
                   WHERE name = invoice.series AND last_number = invoice.number) THEN
        RAISE EXCEPTION 'the number is not the last of its series' USING ERRCODE = '23514';
    END IF;
END $$;

CREATE FUNCTION billing_invoice_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wanted billing_invoice := OLD;
BEGIN
    IF OLD.state = 'draft' THEN
        IF NEW.state NOT IN ('draft', 'issued', 'void') THEN
            RAISE EXCEPTION 'a draft is issued first' USING ERRCODE = '23001';
        ELSIF NEW.state = 'issued' THEN
            PERFORM billing_invoice_issue(NEW);
        END IF;
        RETURN NEW;
    END IF;
    wanted.state := NEW.state;
    wanted.paid := NEW.paid;
    wanted.paid_at := NEW.paid_at;
    IF NEW IS DISTINCT FROM wanted THEN
        RAISE EXCEPTION 'an issued invoice is corrected by another' USING ERRCODE = '23001';
    END IF;
    IF (OLD.state, NEW.state) NOT IN (
        ('issued', 'issued'), ('issued', 'part_paid'), ('issued', 'paid'), ('issued', 'overdue'),
        ('part_paid', 'part_paid'), ('part_paid', 'paid'), ('part_paid', 'overdue'),
        ('overdue', 'part_paid'), ('overdue', 'paid')
    ) THEN
        RAISE EXCEPTION 'an invoice does not go from % to %', OLD.state, NEW.state USING ERRCODE = '23001';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER billing_invoice_fixed BEFORE UPDATE ON billing_invoice
    FOR EACH ROW EXECUTE FUNCTION billing_invoice_fixed();
CREATE TRIGGER billing_invoice_kept BEFORE DELETE ON billing_invoice
    FOR EACH ROW EXECUTE FUNCTION billing_refuse();

CREATE FUNCTION billing_invoice_starts_as_draft() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'an invoice begins as a draft' USING ERRCODE = '23001';
END $$;
CREATE TRIGGER billing_invoice_starts_as_draft BEFORE INSERT ON billing_invoice
    FOR EACH ROW WHEN (NEW.state <> 'draft') EXECUTE FUNCTION billing_invoice_starts_as_draft();

CREATE FUNCTION billing_line_of_draft() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    parent billing_invoice;
BEGIN
    -- FOR SHARE: nobody issues the invoice between this look and the line.
    SELECT * INTO parent FROM billing_invoice
        WHERE id = CASE TG_OP WHEN 'INSERT' THEN NEW.invoice_id ELSE OLD.invoice_id END FOR SHARE;
    IF parent.state IS DISTINCT FROM 'draft' THEN
        RAISE EXCEPTION 'the lines of an issued invoice are fixed' USING ERRCODE = '23001';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER billing_line_of_draft BEFORE INSERT OR DELETE ON billing_invoice_line
    FOR EACH ROW EXECUTE FUNCTION billing_line_of_draft();
CREATE TRIGGER billing_line_fixed BEFORE UPDATE ON billing_invoice_line
    FOR EACH ROW EXECUTE FUNCTION billing_refuse();
"""
UNINVOICE = """
DROP FUNCTION billing_line_of_draft() CASCADE;
DROP FUNCTION billing_invoice_starts_as_draft() CASCADE;
DROP FUNCTION billing_invoice_fixed() CASCADE;
DROP FUNCTION billing_invoice_issue(billing_invoice);
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0001_initial")]

    operations = [
        *[EnableRowSecurity(table) for table in TABLES],
        AppendOnly("billing_txn"),
        AppendOnly("billing_entry"),
        migrations.RunSQL(REFUSE, UNREFUSE),
        migrations.RunSQL(CHARGE, UNCHARGE),
        migrations.RunSQL(LEDGER, UNLEDGER),
        migrations.RunSQL(PERIOD, UNPERIOD),
        migrations.RunSQL(INVOICE, UNINVOICE),
    ]
