"""Scrapy as its tutorial has it: follow each link of the site."""
from urllib.parse import urlsplit

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Follow(CrawlSpider):
    name = "follow"
    rules = [Rule(LinkExtractor(), follow=True)]

    def __init__(self, seed, **kwargs):
        super().__init__(**kwargs)
        self.start_urls, self.allowed_domains = [seed], [urlsplit(seed).hostname]
