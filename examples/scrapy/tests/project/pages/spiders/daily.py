import scrapy


class DailySpider(scrapy.Spider):
    """Reads the index of a site again in each run, and each page once for good."""

    name = "daily"
    custom_settings = {"FIRSTSEEN_FILTER_START": False}  # the start requests are for each run

    def __init__(self, site, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [site + "/index"]

    def parse(self, response):
        for href in response.css("a.next::attr(href)").getall():
            yield response.follow(href, dont_filter=True)  # the rest of the index, also in each run
        for href in response.css("a.page::attr(href)").getall():
            yield response.follow(href, self.parse_page)

    def parse_page(self, response):
        yield {"url": response.url, "spider": self.name}


class WeeklySpider(DailySpider):
    """Another spider of the same site."""

    name = "weekly"
