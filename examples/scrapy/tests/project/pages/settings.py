"""As `scrapy startproject` leaves it, and one line."""

BOT_NAME = "pages"
SPIDER_MODULES = ["pages.spiders"]
NEWSPIDER_MODULE = "pages.spiders"

ROBOTSTXT_OBEY = False
TELNETCONSOLE_ENABLED = False

SCHEDULER = "firstseen_scrapy.Scheduler"
