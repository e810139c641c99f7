"""Fills a shop with what the articles of standard input name, through Oscar's own models: eight products an article."""
import datetime
import json
import random
import sys
from decimal import Decimal

import django

django.setup()

from django.db import transaction
from django.utils import timezone
from oscar.apps.catalogue.categories import create_from_breadcrumbs
from oscar.apps.offer.models import Benefit, Condition, ConditionalOffer, Range
from oscar.core.loading import get_model

Product, ProductClass, ProductCategory = (get_model("catalogue", name) for name in ("Product", "ProductClass", "ProductCategory"))
Attribute, Recommendation = get_model("catalogue", "ProductAttribute"), get_model("catalogue", "ProductRecommendation")
Partner, StockRecord = get_model("partner", "Partner"), get_model("partner", "StockRecord")
Review = get_model("reviews", "ProductReview")
EACH = 8  # products of an article
COLOURS = "black blue green red white yellow".split()


def when(text):
    return timezone.make_aware(datetime.datetime.fromisoformat(text[:19]), datetime.timezone.utc)


def classes():
    """Types of products: each has makers, most have colours, and one comes in sizes."""
    for name, coloured in (("Clothing", True), ("Furniture", True), ("Tools", True), ("Books", False), ("Food", False)):
        kind = ProductClass.objects.create(name=name, requires_shipping=True, track_stock=True)
        Attribute.objects.create(product_class=kind, name="Maker", code="maker", type="text")
        Attribute.objects.create(product_class=kind, name="Weight", code="weight", type="integer")
        if coloured:
            Attribute.objects.create(product_class=kind, name="Colour", code="colour", type="text")
        if name == "Clothing":
            Attribute.objects.create(product_class=kind, name="Size", code="size", type="text")
        yield kind, coloured


def stock(rng, partner, product):
    price = Decimal(rng.randrange(300, 9000)) / 100
    StockRecord.objects.create(product=product, partner=partner, partner_sku=f"sku{product.pk}", price=price, num_in_stock=rng.randrange(40))


@transaction.atomic
def fill(articles):
    rng = random.Random(1)
    kinds = list(classes())
    partner = Partner.objects.create(name="Lab")
    categories = {}
    for n, name in enumerate(sorted({a["category"] for a in articles})):  # three levels
        for part in ("", "New", "Used"):
            path = " > ".join(filter(None, [f"Floor {n % 3 + 1}", name, part]))
            categories[name, part] = create_from_breadcrumbs(path)
    products = []
    for a in articles:
        for k in range(EACH):
            kind, coloured = kinds[rng.randrange(len(kinds))]
            sized = kind.name == "Clothing" and rng.random() < 0.25
            text = rng.choice(a["revisions"])["paragraphs"]
            p = Product(
                structure="parent" if sized else "standalone", product_class=kind, upc=f"{a['id']:05d}{k}",
                title=f"{a['title']} {text[k % len(text)].split()[k].strip('.')}",
                description=f"<p>mark{a['id']:05d}p{k}x {text[k % len(text)]}</p>",
            )
            p.attr.maker = a["author"]
            p.attr.weight = rng.randrange(1, 90) * 100
            if coloured:
                p.attr.colour = rng.choice(COLOURS)
            p.save()
            # Both are set when a product is saved; an index and a list by date are to be equal each time.
            Product.objects.filter(pk=p.pk).update(date_created=when(a["date"]) + datetime.timedelta(minutes=k), date_updated=when(a["date"]))
            ProductCategory.objects.create(product=p, category=categories[a["category"], rng.choice(("New", "Used", ""))])
            if rng.random() < 0.1:  # in a second one
                ProductCategory.objects.get_or_create(product=p, category=rng.choice(list(categories.values())))
            if not sized:
                stock(rng, partner, p)
            for size in "SML" if sized else "":
                child = Product(structure="child", parent=p, upc=f"{p.upc}{size}", title=f"{p.title} {size}", description=f"<p>mark{a['id']:05d}p{k}{size}x</p>")
                child.attr.size = size
                child.save()
                Product.objects.filter(pk=child.pk).update(date_created=when(a["date"]), date_updated=when(a["date"]))
                stock(rng, partner, child)
            for r in range(rng.choice((0, 0, 0, 0, 0, 0, 0, 1, 1, 2))):
                review = Review.objects.create(product=p, score=rng.randrange(1, 6), title=f"{text[0].split()[r]} mark{a['id']:05d}p{k}r{r}x", body=text[-1], name=a["author"], email="a@lab.example", status=Review.APPROVED)
                Review.objects.filter(pk=review.pk).update(date_created=when(a["date"]) + datetime.timedelta(days=r))
            products.append(p)
    for p in products:
        Product.objects.filter(pk=p.pk).update(rating=p.calculate_rating())
        for other in rng.sample(products, rng.choice((0, 1, 2, 3))):
            Recommendation.objects.get_or_create(primary=p, recommendation=other)
    for n in range(max(2, len(articles) // 25)):
        range_ = Range.objects.create(name=f"Range {n}", description=f"<p>markrange{n}x</p>", is_public=True)
        for p in rng.sample(products, 30):
            range_.add_product(p)
        condition = Condition.objects.create(range=range_, type="Count", value=2)
        benefit = Benefit.objects.create(range=range_, type="Percentage", value=5 + n)
        ConditionalOffer.objects.create(name=f"Two of range {n}", description=f"<p>markoffer{n}x</p>", condition=condition, benefit=benefit)


fill(json.load(sys.stdin))
