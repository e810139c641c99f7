import scrapy
from scrapy.http import FormRequest, JsonRequest


class OddSpider(scrapy.Spider):
    """Requests with everything that a request can have."""

    name = "odd"
    handle_httpstatus_list = [404]

    def __init__(self, site, **kwargs):
        super().__init__(**kwargs)
        self.site = site
        self.start_urls = [site + "/start"]

    def parse(self, response):
        yield FormRequest(
            self.site + "/form", formdata={"q": "ä b", "page": "1"}, callback=self.parse_form, errback=self.failed,
            meta={"tuple": (1, b"\xff"), "set": {"a"}, 3: "three"}, cb_kwargs={"n": 7}, headers={"X-Odd": "yes"},
            cookies={"c": "1"}, priority=250, flags=["odd"])  # fmt: skip
        yield FormRequest(self.site + "/form", formdata={"q": "other"}, callback=self.parse_form, cb_kwargs={"n": 8})
        yield FormRequest(self.site + "/form", formdata={"q": "other"}, callback=self.parse_form, cb_kwargs={"n": 9})
        yield JsonRequest(self.site + "/json", data={"a": [1, None]}, callback=self.parse_json)
        yield scrapy.Request(self.site + "/form", callback=self.parse_json)
        yield scrapy.Request("data:,hello", callback=self.parse_json)
        yield scrapy.Request(self.site + "/lambda", callback=lambda r: {"callback": "lambda", "url": r.url})
        yield scrapy.Request(self.site + "/object", meta={"object": object()}, callback=self.parse_json)
        yield scrapy.Request(self.site + "/gone", errback=self.failed, callback=self.parse_json)
        for _ in range(2):
            yield scrapy.Request(self.site + "/again", dont_filter=True, callback=self.parse_json)

    def parse_form(self, response, n):
        r = response.request
        yield {
            "callback": "form", "n": n, "meta": repr([r.meta.get(k) for k in ("tuple", "set", 3)]), "class": type(r).__name__,
            "priority": r.priority, "flags": r.flags, "errback": r.errback.__name__ if r.errback else None,
        }  # fmt: skip
        if n == 7:
            yield scrapy.Request(self.site + "/lambda", callback=self.parse_json)  # which can leave the process, but is known here

    def parse_json(self, response):
        yield {"callback": "json", "url": response.url.replace(self.site, ""), "status": getattr(response, "status", None)}

    def failed(self, failure):
        yield {"callback": "failed", "url": failure.request.url.replace(self.site, "")}


class AloneSpider(scrapy.Spider):
    """Logs in, and asks for pages; most of its requests can't leave the process."""

    name = "alone"
    login = {"firstseen_login": True}

    def __init__(self, site, **kwargs):
        super().__init__(**kwargs)
        self.site = site

    async def start(self):
        yield scrapy.Request(self.site + "/login", callback=self.log_in, meta=self.login)
        for n in range(12):
            odd = [{"callback": lambda r: {"url": r.url}}, {"meta": {"object": object()}}, {}][n % 3]
            yield scrapy.Request(f"{self.site}/{n}", **odd)

    def log_in(self, response):
        yield FormRequest(self.site + "/login", formdata={"user": "me"}, callback=self.logged_in, meta=self.login)

    def logged_in(self, response):
        yield response.follow("/friends", callback=self.logged_in, meta=response.meta)  # which links to itself

    def parse(self, response):
        yield {"url": response.url}
