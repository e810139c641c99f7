"""Settings of a shop with Oscar, in the directory that it runs in."""
import os

from oscar import INSTALLED_APPS as OSCAR_APPS
from oscar.defaults import *  # noqa: F403 what Oscar expects of settings

SECRET_KEY = "lab"
ALLOWED_HOSTS = ["*"]
SITE_ID = 1
ROOT_URLCONF = "urls"
OSCAR_SHOP_NAME = "Lab"
HERE = os.getcwd()
DATABASES = {"default": {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": os.path.join(HERE, "shop.db"),
    "CONN_MAX_AGE": None,
    "OPTIONS": {"timeout": 60, "init_command": "PRAGMA journal_mode=WAL"},  # each page of a product counts its views, in several processes
}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
MEDIA_ROOT, MEDIA_URL, STATIC_URL = os.path.join(HERE, "media"), "/media/", "/static/"
STORAGES = {"default": {"BACKEND": "django.core.files.storage.FileSystemStorage"}, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
USE_TZ, TIME_ZONE, LANGUAGE_CODE = True, "UTC", "en-gb"
LANGUAGES = [("en-gb", "English"), ("de", "Deutsch"), ("fr", "Français")]

INSTALLED_APPS = [app if app != "oscar.apps.search.apps.SearchConfig" else "search.apps.SearchConfig" for app in OSCAR_APPS] + ["sorl.thumbnail"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware",
]
AUTHENTICATION_BACKENDS = ["oscar.apps.customer.auth_backends.EmailBackend", "django.contrib.auth.backends.ModelBackend"]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request",
        "django.template.context_processors.i18n",
        "django.template.context_processors.static",
        "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
        "oscar.apps.search.context_processors.search_form",
        "oscar.apps.checkout.context_processors.checkout",
        "oscar.apps.communication.notifications.context_processors.notifications",
        "oscar.core.context_processors.metadata",
    ]},
}]

HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "xapian_backend.XapianEngine", "PATH": os.path.join(HERE, "search")}}
HAYSTACK_SIGNAL_PROCESSOR = "haystack.signals.BaseSignalProcessor"  # the index is made when all is filled in
FACETS = [("product_class", "Type"), ("rating", "Rating"), ("maker", "Maker"), ("colour", "Colour"), ("price_range", "Price range")]
OSCAR_SEARCH_FACETS = {"fields": {field: {"name": name, "field": field} for field, name in FACETS}, "queries": {}}
