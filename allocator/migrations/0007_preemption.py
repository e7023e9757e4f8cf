"""The notice of an earlier end."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('allocator', '0006_card'),
    ]

    operations = [
        migrations.AddField(
            model_name='lease',
            name='notice_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='lease',
            name='notice_reason',
            field=models.CharField(blank=True, db_default='', default='', max_length=32),
        ),
    ]
