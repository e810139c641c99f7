"""A spider without settings of its own: scrapy runspider spider.py -a seed=URL -s SCHEDULER=..."""

import scrapy


class Follow(scrapy.Spider):
    name = "follow"

    def __init__(self, seed, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [seed]

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)
