"""Fills a calendar of Joyous with the articles of standard input, through its own models: each revision is an event."""
import datetime
import json
import sys

import django

django.setup()
from django.db import transaction
from ls.joyous.models import CalendarPage, ExtraInfoPage, MultidayEventPage, RecurringEventPage, SimpleEventPage
from ls.joyous.utils.recurrence import WEEKLY, Recurrence
from wagtail.core.models import Page, Site

articles = json.load(sys.stdin)


def slug(a, n):
    return a["title"].lower().replace(" ", "-") + (f"-{n + 1}" if n else "")


@transaction.atomic
def fill():
    calendar = CalendarPage(title="Lab", slug="calendar")
    Page.get_first_root_node().add_child(instance=calendar)
    Site.objects.all().delete()
    Site.objects.create(hostname="localhost", root_page=calendar, is_default_site=True)
    for a in articles:
        see = ", ".join(f'<a href="/{slug(articles[l], 0)}/">{articles[l]["title"]}</a>' for l in a["links"])
        for n, r in enumerate(a["revisions"]):
            at = datetime.datetime.fromisoformat(r["date"][:19])
            of = {
                "title": a["title"] + (f" {n + 1}" if n else ""), "slug": slug(a, n), "owner": None, "time_from": at.time(),
                "details": f"<p>event{a['id']:05d}n{n}x</p><p>{r['paragraphs'][-1]}</p><p>See also {see}.</p>",
            }
            if n == 0 and a["id"] % 25 == 7:
                event = RecurringEventPage(repeat=Recurrence(dtstart=at.date(), freq=WEEKLY, byweekday=[at.weekday()]), **of)
            elif a["id"] % 6 == 1:
                event = MultidayEventPage(date_from=at.date(), date_to=at.date() + datetime.timedelta(days=2), **of)
            else:
                event = SimpleEventPage(date=at.date(), **of)
            calendar.add_child(instance=event)
            event.save_revision()  # iCal has its time
            if isinstance(event, RecurringEventPage):
                again = at.date() + datetime.timedelta(days=14)
                extra = ExtraInfoPage(
                    overrides=event, except_date=again, extra_title=a["title"] + " again", extra_information=f"<p>extra{a['id']:05d}x</p>",
                )
                event.add_child(instance=extra)
                extra.save_revision()


fill()
