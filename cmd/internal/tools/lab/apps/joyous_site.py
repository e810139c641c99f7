"""The settings of a Wagtail site in the directory of the process."""
import os

SECRET_KEY = "lab"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "wagtail.core.urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.abspath("joyous.sqlite")}}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "/static/"
WAGTAIL_SITE_NAME = "Lab"
INSTALLED_APPS = [
    "ls.joyous", *("wagtail." + name for name in (
        "contrib.forms", "contrib.modeladmin", "contrib.redirects", "contrib.routable_page", "sites", "users", "embeds", "documents", "images", "search", "admin", "core",
    )), "modelcluster", "taggit",
    *("django.contrib." + name for name in ("auth", "contenttypes", "sessions", "messages", "staticfiles")),
]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware"]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [os.path.abspath("templates")], "APP_DIRS": True,
    "OPTIONS": {"context_processors": ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth"]},
}]
