"""Prints the events of a Joyous calendar by its database, a JSON object a line; an occurrence with more information is one, too."""
import json
import re

import django

django.setup()
from ls.joyous.models import CalendarPage
from wagtail.core.models import Page

for page in Page.objects.live().descendant_of(CalendarPage.objects.get()).order_by("path").specific():
    marker = re.search(r"(event|extra)\w*x\b", getattr(page, "extra_information", None) or page.details)
    print(json.dumps({"object": f"event {page.id}", "names": {"path": page.url.strip("/")}, "marker": marker[0]}))
