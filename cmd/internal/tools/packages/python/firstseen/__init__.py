"""firstseen: which of these URLs are new, and which may be fetched now?

The package carries the program `firstseen`. From Python:

    import firstseen

    with firstseen.Daemon("crawl") as daemon:      # a private one, in the directory crawl
        client = daemon.client()
        client.offer(["http://example.com/", "HTTP://EXAMPLE.COM:80/#top"])
        for lease in client.lease(10):
            ...                                    # fetch lease.url
            client.done(lease)

A daemon that runs elsewhere is `firstseen.Client("http://10.0.0.1:7072", token="…")`.
"""

from ._client import Client, FirstseenError, Lease, Refused, Unavailable, Verdict
from ._daemon import Daemon, binary

__all__ = ["Client", "Daemon", "FirstseenError", "Lease", "Refused", "Unavailable", "Verdict", "binary"]
