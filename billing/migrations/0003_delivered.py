"""A kind of charge for delivered time whose use cannot be read. The new check holds all that the old one held."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("billing", "0002_invariants")]
    operations = [
        migrations.RemoveConstraint(model_name="charge", name="billing_charge_kind"),
        AddConstraintNotValid(
            model_name="charge",
            constraint=models.CheckConstraint(
                condition=models.Q(kind__in=["used", "idle", "delivered", "reserved"]), name="billing_charge_kind"
            ),
        ),
    ]
