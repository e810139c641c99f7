"""A Scrapy scheduler and duplicate filter kept by a firstseen daemon.

Scrapy keeps what it has seen in memory or in a file that is read whole at the start,
and its queue in files that a crash leaves behind the seen-set: what was seen and not
yet fetched is then lost. Here one atomic step in the daemon both marks a request as
seen and queues it, and a request leaves the queue only when its callback has ended and
everything the callback yielded is on disk. So a crawl may be killed at any moment,
several processes may share it, and nothing is read at the start.

    SCHEDULER = "firstseen_scrapy.Scheduler"

That line is all: the daemon is started with the crawl and ends with it, unless FIRSTSEEN_URL
names one that several processes share.

The price: requests of one site come in order of priority and then of arrival (Scrapy's
own order is last in, first out), and a request costs a share of a synced write.

Those who keep Scrapy's scheduler can take the filter alone:

    DUPEFILTER_CLASS = "firstseen_scrapy.DupeFilter"
"""

from .dupefilter import DupeFilter
from .scheduler import Scheduler

__all__ = ["DupeFilter", "Scheduler"]
