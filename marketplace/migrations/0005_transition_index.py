from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("marketplace", "0004_quotes")]
    operations = [
        AddIndexConcurrently(
            model_name="reservationevent",
            index=models.Index(fields=["tenant_id", "-at", "-id"], name="transition_by_tenant"),
        ),
    ]
