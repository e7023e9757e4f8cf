"""What all environments share. Every value that differs between machines is read from the environment."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from config.settings import _env
from vxpu.states import DeviceKind, Isolation, LeaseState, Quality

BASE_DIR = Path(__file__).resolve().parent.parent.parent
VXPU_VAR = Path(_env.text("VXPU_VAR", str(BASE_DIR / "var")))

DEBUG = False
ALLOWED_HOSTS = _env.words("DJANGO_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"
AUTH_USER_MODEL = "identity.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False
APPEND_SLASH = False

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "plumbing",
    "identity",
    "allocator",
    "billing",
    "marketplace",
]

# Thin on purpose: a reservation must be decided within 60 ms on two cores.
MIDDLEWARE = [
    "plumbing.middleware.request_context",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "config/templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": []},
    },
]

PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ["email", "name"]},
    },
]

# Django's CSRF check guards what a session's cookie may change; identity/api/cookies.py sets the cookie at the log-in.
CSRF_COOKIE_NAME = "vxpu_csrf"
CSRF_HEADER_NAME = "HTTP_X_CSRF_TOKEN"
CSRF_COOKIE_SAMESITE = "Lax"
# Further origins whose pages are ours, "https://console.example" and the like.
CSRF_TRUSTED_ORIGINS = _env.words("VXPU_TRUSTED_ORIGINS", "")

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True  # served from the packages themselves: there is nothing to collect
# The console that `make ui` built: index.html for the page (config/console.py), and files that WhiteNoise serves.
VXPU_UI_DIR = Path(_env.text("VXPU_UI_DIR", str(BASE_DIR / "config/ui")))
WHITENOISE_ROOT = VXPU_UI_DIR / "files" if (VXPU_UI_DIR / "files").is_dir() else None
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/ui/assets/.+-[A-Za-z0-9_-]{8}\.\w+$"  # Vite names them by their content
WHITENOISE_ALLOW_ALL_ORIGINS = False
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 2**20

# A connection may come back with the tenant of its last request: plumbing/postgresql trusts none that it is given.
POOL: dict[str, Any] = {
    "min_size": 1,
    "max_size": _env.integer("VXPU_DB_POOL_MAX", 8),
    "timeout": 3,
    # After an outage a request tries afresh instead of waiting for a back-off that has grown to half a minute.
    "reconnect_timeout": 1,
}


def databases(app_url: str, owner_url: str, *, pooled: bool) -> dict[str, Any]:
    """`default` is the application's role (row-level security holds for it); `owner` migrates and does nothing else."""
    # A process that hangs must not hold others up: the locks of a stopped one are freed after a minute.
    limits = "-c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"
    options: dict[str, Any] = {"connect_timeout": "5"}
    application = {**options, "options": limits, **({"pool": POOL} if pooled else {})}
    found = {"default": {**_env.database(app_url, options=application), "ENGINE": "plumbing.postgresql"}}
    if owner_url:
        found["owner"] = _env.database(owner_url, options=options)
        found["owner"]["TEST"] = {"MIRROR": "default"}
    return found


REDIS_URL = _env.text("REDIS_URL", "redis://127.0.0.1:6379/0")
CHANNEL_LAYERS = {
    "default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}},
}

REST_FRAMEWORK: dict[str, Any] = {
    # In this order: a bearer token wins over a cookie.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "identity.api.authentication.TokenAuthentication",
        "identity.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["plumbing.api.parsing.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "plumbing.api.schema.DomainSchema",
    "EXCEPTION_HANDLER": "plumbing.api.errors.handler",
    "DEFAULT_METADATA_CLASS": None,
    "UNAUTHENTICATED_USER": None,
    "COERCE_DECIMAL_TO_STRING": True,
}

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "vXPU Market",
    "DESCRIPTION": "Reserve a slice of an accelerator, run inside it, and get an invoice that adds up.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "SORT_OPERATIONS": True,
    "ENUM_NAME_OVERRIDES": {
        **{enum.__name__: [member.value for member in enum] for enum in (LeaseState, DeviceKind, Isolation, Quality)},
        "ReservationState": "marketplace.models.ReservationState",
        "NodeState": "allocator.models.node.NodeState",
        "MovePlanKind": "allocator.models.relocation.MovePlanKind",
        "MovePlanState": "allocator.models.relocation.MovePlanState",
        "RelocationState": "allocator.models.relocation.RelocationState",
        "MovingState": "marketplace.api.serializers.MOVING_STATES",
        "DrainState": "allocator.models.maintenance.DrainState",
        "AccountStatus": "billing.models.AccountStatus",
        "ChargeKind": "billing.api.serializers.CHARGE_KINDS",
        "InvoiceState": "billing.api.serializers.INVOICE_STATES",
        "EvictionKind": "marketplace.models.EvictionKind",
        "EvictionReason": "marketplace.models.EvictionReason",
        "ScaleKind": "marketplace.models.ScaleKind",
        "ScaleOutcome": "marketplace.models.ScaleOutcome",
        "Meter": "marketplace.models.Meter",
        "Role": "identity.models.Role",
        "Scope": "identity.models.member.SCOPES",
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Celery would tear the connection pool down around every task; `hand_back` in config/celery.py returns the connection.
CELERY_DB_REUSE_MAX = 10**12
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
# A task of a dead worker is delivered again after this time; the reconcilers are quicker than that.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 120,
    # By name: `allocator` first, `market` last. In turns, the watch over the nodes would lapse behind a burst of sales.
    "queue_order_strategy": "sorted",
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
    "retry_on_timeout": False,
    # A sender gives up at once: the outbox keeps the news. Workers have their own, endless, retries.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
}

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "plumbing.logs.RequestIdFilter"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["request_id"]}},
    "root": {"handlers": ["stderr"], "level": _env.text("VXPU_LOG_LEVEL", "INFO")},
    # A 409 is an answer, not a warning; what is our fault (5xx) stays.
    "loggers": {"django.request": {"level": "ERROR"}},
}

# --- the product's own settings; durations in seconds ---
VXPU_OPERATOR_TENANT = UUID(int=0)
VXPU_HEARTBEAT_S = _env.integer("VXPU_HEARTBEAT_S", 5)
VXPU_FAILURE_TIMEOUT_S = _env.integer("VXPU_FAILURE_TIMEOUT_S", 30)
VXPU_AUTHORITY_S = _env.integer("VXPU_AUTHORITY_S", 25)
# What the agent may be late in closing its gates, the clocks' difference in rate included. Leases of a silent node are
# given up by themselves only while authority + margin < failure timeout.
VXPU_FENCE_MARGIN_S = _env.integer("VXPU_FENCE_MARGIN_S", 3)
VXPU_WINDOW_S = _env.integer("VXPU_WINDOW_S", 60)
# The allocator's picture of the fleet in memory is read anew when it is so old, and when nobody looked for so long.
VXPU_PICTURE_AGE_S = _env.integer("VXPU_PICTURE_AGE_S", 60)
VXPU_PICTURE_PAUSE_S = _env.integer("VXPU_PICTURE_PAUSE_S", 30)
# Devices whose health score is below take nothing new; 0: none is too ill. Below 30 is what lost data or hangs, not
# what is hot, slowed or worn (docs/placement.md).
VXPU_HEALTH_FLOOR = _env.integer("VXPU_HEALTH_FLOOR", 30)
# What the default policy learns from: wishes of so many days, of which old ones count half after so many.
VXPU_LEARN_DAYS = _env.integer("VXPU_LEARN_DAYS", 28)
VXPU_LEARN_HALF_LIFE_DAYS = _env.integer("VXPU_LEARN_HALF_LIFE_DAYS", 7)
# How many members a gang may have.
VXPU_GANG_MOST = _env.integer("VXPU_GANG_MOST", 256)
# How nodes without a pool are filled, and whether a wish may name another policy for them.
VXPU_POLICY = _env.text("VXPU_POLICY", "fragmentation")
VXPU_POLICY_OVERRIDE = _env.flag("VXPU_POLICY_OVERRIDE", default=True)
VXPU_GRACE_S = _env.integer("VXPU_GRACE_S", 5)
# A move of a running lease: how long the new slice may take to be ready, and a hook to save what there is.
VXPU_MOVE_PREPARE_S = _env.integer("VXPU_MOVE_PREPARE_S", 120)
VXPU_MOVE_HOOK_S = _env.integer("VXPU_MOVE_HOOK_S", 60)
# Moves that may make room for one wish that was refused (0: none are made), and for emptying nodes in quiet hours.
VXPU_ROOM_MOVES = _env.integer("VXPU_ROOM_MOVES", 0)
VXPU_CONSOLIDATION_MOVES = _env.integer("VXPU_CONSOLIDATION_MOVES", 0)
# Quiet hours in UTC, "22:00-06:00"; empty is never. Room is made in them only, if so said.
VXPU_QUIET_HOURS = _env.text("VXPU_QUIET_HOURS", "")
VXPU_ROOM_QUIET_ONLY = _env.flag("VXPU_ROOM_QUIET_ONLY", default=False)
# How often a tenant may be disturbed by moves in 24 hours (a drain does not ask); what ends sooner is not moved.
VXPU_MOVES_PER_TENANT_DAY = _env.integer("VXPU_MOVES_PER_TENANT_DAY", 2)
VXPU_MOVE_MIN_LEFT_S = _env.integer("VXPU_MOVE_MIN_LEFT_S", 600)
# How long room that was made by moves is held for whom it was made.
VXPU_ROOM_HOLD_S = _env.integer("VXPU_ROOM_HOLD_S", 600)
VXPU_RATING_PERIOD_S = _env.integer("VXPU_RATING_PERIOD_S", 3600)
VXPU_HOLD_TTL_S = _env.integer("VXPU_HOLD_TTL_S", 120)
VXPU_QUOTE_TTL_S = _env.integer("VXPU_QUOTE_TTL_S", 120)
# The queue: how much a tenant may ask for or hold as urgent; when a low wish counts as normal, and any as an elder that
# goes first; how fast use is forgotten; how long after a failed try the next one comes; how many leases a wish may get.
VXPU_URGENT_PERMILLE = _env.integer("VXPU_URGENT_PERMILLE", 1000)
VXPU_QUEUE_AGE_S = _env.integer("VXPU_QUEUE_AGE_S", 4 * 3600)
VXPU_QUEUE_ELDER_S = _env.integer("VXPU_QUEUE_ELDER_S", 12 * 3600)
VXPU_FAIR_HALF_LIFE_S = _env.integer("VXPU_FAIR_HALF_LIFE_S", 7 * 86_400)
VXPU_RETRY_FIRST_S = _env.integer("VXPU_RETRY_FIRST_S", 10)
VXPU_RETRY_MOST_S = _env.integer("VXPU_RETRY_MOST_S", 900)
VXPU_ACTIVATION_TRIES = _env.integer("VXPU_ACTIVATION_TRIES", 5)
# For how many wishes the start is estimated, and with how many replays of the calendar.
VXPU_ESTIMATE_WISHES = _env.integer("VXPU_ESTIMATE_WISHES", 500)
VXPU_ESTIMATE_REPLAYS = _env.integer("VXPU_ESTIMATE_REPLAYS", 20)
VXPU_LATE_LIMIT_S = _env.integer("VXPU_LATE_LIMIT_S", 86_400)
# Pre-emption (docs/preemption.md): how long a request waits before it may evict, how long before its end a victim is
# told, how long a slice runs before it may be evicted, within which time no two evict one another twice, and after how
# many evictions, or how long a wait, a request stands a class higher.
VXPU_PREEMPT_DELAY_S = _env.integer("VXPU_PREEMPT_DELAY_S", 60)
VXPU_PREEMPT_NOTICE_S = _env.integer("VXPU_PREEMPT_NOTICE_S", 120)
VXPU_PREEMPT_MIN_RUN_S = _env.integer("VXPU_PREEMPT_MIN_RUN_S", 600)
VXPU_PREEMPT_PROTECT_S = _env.integer("VXPU_PREEMPT_PROTECT_S", 3600)
VXPU_PREEMPT_PROMOTE_AFTER = _env.integer("VXPU_PREEMPT_PROMOTE_AFTER", 3)
VXPU_PREEMPT_PROMOTE_WAIT_S = _env.integer("VXPU_PREEMPT_PROMOTE_WAIT_S", 6 * 3600)
# Scaling by rule (docs/scaling.md): a signal that is older says nothing; over what throttling is read.
VXPU_SCALE_FRESH_S = _env.integer("VXPU_SCALE_FRESH_S", 300)
VXPU_SCALE_WINDOW_S = _env.integer("VXPU_SCALE_WINDOW_S", 300)
VXPU_WEB_URL = _env.text("VXPU_WEB_URL", "http://127.0.0.1:8000")
VXPU_SOCKET_URL = _env.text("VXPU_SOCKET_URL", "ws://127.0.0.1:8001")
# Where tenants reach the sockets, if that is another address than the agents'.
VXPU_PUBLIC_SOCKET_URL = _env.text("VXPU_PUBLIC_SOCKET_URL", VXPU_SOCKET_URL)
VXPU_SESSION_S = _env.integer("VXPU_SESSION_S", 12 * 3600)
VXPU_SESSION_COOKIE = "vxpu_session"
# Wrong log-ins in a window: of one account, and from one address (many people may share one).
VXPU_LOGIN_TRIES = _env.integer("VXPU_LOGIN_TRIES", 10)
VXPU_LOGIN_TRIES_PER_ADDRESS = _env.integer("VXPU_LOGIN_TRIES_PER_ADDRESS", 100)
VXPU_LOGIN_WINDOW_S = _env.integer("VXPU_LOGIN_WINDOW_S", 900)
# How many proxies of ours stand in front and write X-Forwarded-For; 0: the peer's address counts.
VXPU_PROXIES = _env.integer("VXPU_PROXIES", 0)
VXPU_EXECS_PER_LEASE = _env.integer("VXPU_EXECS_PER_LEASE", 4)
VXPU_EXEC_LOG_KIB = _env.integer("VXPU_EXEC_LOG_KIB", 256)
VXPU_EXEC_LOG_TTL_S = _env.integer("VXPU_EXEC_LOG_TTL_S", 3600)
VXPU_EXEC_LOGS_PER_LEASE = _env.integer("VXPU_EXEC_LOGS_PER_LEASE", 16)
# The live sockets: pages at other addresses that may open them (a front end under development), how often credentials
# are looked at again (seconds), sockets of one credential and topics of one socket, deltas kept for each feed.
VXPU_LIVE_ORIGINS = _env.words("VXPU_LIVE_ORIGINS", "")
VXPU_LIVE_RECHECK_S = _env.integer("VXPU_LIVE_RECHECK_S", 15)
VXPU_LIVE_SOCKETS = _env.integer("VXPU_LIVE_SOCKETS", 16)
VXPU_LIVE_TOPICS = _env.integer("VXPU_LIVE_TOPICS", 32)
VXPU_LIVE_KEPT = _env.integer("VXPU_LIVE_KEPT", 500)
VXPU_SERVER_KEY_FILE = Path(_env.text("VXPU_SERVER_KEY_FILE", str(VXPU_VAR / "server-key.pem")))
VXPU_CURRENCY = _env.text("VXPU_CURRENCY", "EUR")
VXPU_IDEMPOTENCY_TTL = timedelta(hours=24)
# Longer than any request may take (the WSGI server's time limit): then the worker behind the key is dead.
VXPU_IDEMPOTENCY_LEASE_S = _env.integer("VXPU_IDEMPOTENCY_LEASE_S", 60)
VXPU_SUBSCRIPTIONS = "config.subscriptions.SUBSCRIPTIONS"
VXPU_OUTBOX_NUDGE = "config.celery.nudge_outbox"
