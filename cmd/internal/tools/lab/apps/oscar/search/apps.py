from oscar.apps.search import apps


class SearchConfig(apps.SearchConfig):
    name = "search"
