"""The addresses of a shop: Oscar's, below the language, as its documentation proposes for several languages."""
from django.apps import apps
from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

urlpatterns = [path("i18n/", include("django.conf.urls.i18n"))]
urlpatterns += i18n_patterns(path("", include(apps.get_app_config("oscar").urls[0])))
