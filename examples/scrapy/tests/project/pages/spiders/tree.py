import scrapy


class TreeSpider(scrapy.Spider):
    """Follows every link of a site, in whatever spelling."""

    name = "tree"

    def __init__(self, site, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [site + "/p/0"]

    def parse(self, response):
        yield {"url": response.url}
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)


class RenamedSpider(TreeSpider):
    """The same under a new name."""

    name = "renamed"
