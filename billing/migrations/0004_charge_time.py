"""Validate the check without holding up writers, and find an account's charges of a range."""

from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("billing", "0003_delivered")]
    operations = [
        ValidateConstraint(model_name="charge", name="billing_charge_kind"),
        AddIndexConcurrently(
            model_name="charge",
            index=models.Index(
                fields=["account", "starts_at"],
                condition=models.Q(("reverses__isnull", True), ("superseded", False)),
                name="billing_charge_of_account",
            ),
        ),
    ]
