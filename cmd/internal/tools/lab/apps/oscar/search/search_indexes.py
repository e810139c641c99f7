"""The index of products, with attributes to choose by."""
from haystack import indexes
from oscar.apps.search import search_indexes

BANDS = [(20, "up to 20"), (40, "20 to 40"), (60, "40 to 60")]


class ProductIndex(search_indexes.ProductIndex):
    maker = indexes.CharField(null=True)
    colour = indexes.CharField(null=True)
    price_range = indexes.CharField(null=True)

    def prepare_price(self, product):
        price = super().prepare_price(product)
        return None if price is None else float(price)  # Xapian takes no decimals

    def prepare_maker(self, product):
        return product.attr.maker

    def prepare_colour(self, product):
        return getattr(product.attr, "colour", None)

    def prepare_price_range(self, product):
        price = self.prepare_price(product)
        return price and next((name for most, name in BANDS if price < most), "60 and more")
