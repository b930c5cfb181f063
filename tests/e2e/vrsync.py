# SPDX-License-Identifier: Apache-2.0
"""The public rules of VRSync (sources: doc/listings.md) as a table, and a check of a document against them.

    vrsync.py [FILE]    checks a document, or standard input, and prints what violates a rule
"""

import re
import sys
from xml.etree import ElementTree

NAMESPACE = "{http://www.vivareal.com/schemas/1.0/VRSync}"
RESIDENTIAL = ("Apartment", "Home", "Condo", "Village House", "Farm Ranch", "Penthouse", "Flat", "Kitnet", "Studio", "Loft", "Land Lot",
               "Agricultural", "Sobrado")
COMMERCIAL = ("Consultorio", "Edificio Residencial", "Industrial", "Building", "Garage", "Hotel", "Loja", "Land Lot", "Business",
              "Office", "Edificio Comercial", "Corporate Floor")
TYPES = {f"Residential / {name}" for name in RESIDENTIAL} | {f"Commercial / {name}" for name in COMMERCIAL}
LOT_TYPES = {"Residential / Land Lot", "Commercial / Land Lot", "Commercial / Industrial", "Residential / Farm Ranch",
             "Residential / Agricultural"}
STATES = "AC AL AP AM BA CE DF ES GO MA MT MS MG PA PB PR PE PI RJ RN RS RO RR SC SP SE TO".split()

WHOLE = r"0|[1-9][0-9]*"
PRICE = r"[1-9][0-9]*"
ONE, OPTIONAL = (1, 1), (0, 1)
LINE = r"[^\n]{%s}"

# Path: how often, the pattern of the text, and the attributes with their patterns ("?": optional). In the order of the examples.
RULES = {
    "ListingID": (ONE, LINE % "1,50", {}),
    "Title": (ONE, LINE % "10,100", {}),
    "TransactionType": (ONE, "For Sale|For Rent|Sale/Rent", {}),
    "Media/Item": ((5, 1000), "https?://.+", {"medium": "image|video", "caption?": ".*", "primary?": "true"}),
    "Details/UsageType": (OPTIONAL, "Residential|Commercial|Residential / Commercial", {}),
    "Details/PropertyType": (ONE, "|".join(TYPES), {}),
    "Details/Description": (ONE, r"(?s).{50,}", {}),
    "Details/ListPrice": (OPTIONAL, PRICE, {"currency": "BRL"}),
    "Details/RentalPrice": (OPTIONAL, PRICE, {"currency": "BRL", "period": "Monthly"}),
    "Details/Iptu": (OPTIONAL, PRICE, {"currency": "BRL", "period?": "Monthly|Yearly"}),
    "Details/LotArea": (OPTIONAL, PRICE, {"unit": "square metres"}),
    "Details/LivingArea": (OPTIONAL, PRICE, {"unit": "square metres"}),
    "Details/PropertyAdministrationFee": (OPTIONAL, WHOLE, {"currency": "BRL"}),
    **{"Details/" + name: (OPTIONAL, WHOLE, {}) for name in ("Bedrooms", "Bathrooms", "Suites", "Garage", "UnitFloor")},
    "Details/YearBuilt": (OPTIONAL, "[0-9]{4}", {}),
    "Details/Features/Feature": ((0, 200), "[A-Za-z0-9 /'-]+", {}),
    "Location/Country": (ONE, "Brasil", {"abbreviation": "BR"}),
    "Location/State": (ONE, ".+", {"abbreviation": "|".join(STATES)}),
    "Location/City": (ONE, ".+", {}),
    "Location/Neighborhood": (ONE, ".+", {}),
    "Location/Address": (OPTIONAL, ".+", {}),
    "Location/StreetNumber": (OPTIONAL, ".+", {}),
    "Location/Complement": (OPTIONAL, ".+", {}),
    "Location/PostalCode": (ONE, "[0-9]{5}-?[0-9]{3}", {}),
    "Location/Latitude": (OPTIONAL, r"-?[0-9]+(\.[0-9]+)?", {}),
    "Location/Longitude": (OPTIONAL, r"-?[0-9]+(\.[0-9]+)?", {}),
    "ContactInfo/Name": (ONE, ".+", {}),
    "ContactInfo/Email": (ONE, ".+@.+", {}),
    "ContactInfo/Telephone": (OPTIONAL, ".+", {}),
}
PARENTS = {"Media": {}, "Details": {}, "Details/Features": {}, "Location": {"displayAddress": "All|Street|Neighborhood"}, "ContactInfo": {}}
HEADER = {"Provider": ".+", "Email": ".+@.+", "ContactName": ".+", "PublishDate": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "Telephone": ".+"}
TAG = re.compile(r"<[a-zA-Z/!?]")


class Errors(list):
    """The violated rules. `place` is the element or listing that is being checked."""

    place = "document"

    def unless(self, condition, what):
        if not condition:
            self.append(f"{self.place}: {what}")


def check_attributes(path, given, rules, errors):
    names = {name.rstrip("?"): pattern for name, pattern in rules.items()}
    errors.unless(given.keys() <= names.keys(), f"{path} has other attributes than {', '.join(names)}: {given}")
    for name, pattern in rules.items():
        value = given.get(name.rstrip("?"))
        is_valid = re.fullmatch(pattern, value) if value is not None else name.endswith("?")
        errors.unless(is_valid, f"{path} must have {name.rstrip('?')}=\"{pattern}\", not {given}")


def leaves(element, errors, path=""):
    """The elements with text, with their paths. Checks the attributes of the others."""
    for child in element:
        errors.unless(child.tag.startswith(NAMESPACE), f"{child.tag} is not in the namespace")
        name = path + child.tag.removeprefix(NAMESPACE)
        if name in PARENTS:
            check_attributes(name, child.attrib, PARENTS[name], errors)
            yield from leaves(child, errors, name + "/")
        else:
            yield name, child


def read_elements(listing, errors):
    """The elements of a listing in lists by their paths. Checks each by its rule."""
    found, order = {}, []
    for path, element in leaves(listing, errors):
        if path not in RULES:
            errors.unless(False, f"{path} is unknown")
            continue
        _, pattern, attributes = RULES[path]
        is_valid = len(element) == 0 and re.fullmatch(pattern, element.text or "")
        errors.unless(is_valid, f"{path} must match {pattern}, not {element.text!r}")
        check_attributes(path, element.attrib, attributes, errors)
        found.setdefault(path, []).append(element)
        order.append(list(RULES).index(path))
    errors.unless(order == sorted(order), "the elements are not in the order of the examples")
    for path, ((least, most), *_) in RULES.items():
        errors.unless(least <= len(found.get(path, [])) <= most, f"{path} must occur {least} to {most} times")
    return found


def check_together(one, media, errors):
    """Checks the rules about several elements."""
    errors.unless(not TAG.search(one.get("Title", "")), "Title has HTML")
    errors.unless(not TAG.search(one.get("Details/Description", "").replace("<br>", "")), "Details/Description has HTML other than <br>")
    transaction = one.get("TransactionType")
    errors.unless(("Details/ListPrice" in one) == (transaction in ("For Sale", "Sale/Rent")), f"{transaction} and ListPrice differ")
    errors.unless(("Details/RentalPrice" in one) == (transaction in ("For Rent", "Sale/Rent")), f"{transaction} and RentalPrice differ")
    area = "Details/LotArea" if one.get("Details/PropertyType") in LOT_TYPES else "Details/LivingArea"
    errors.unless(area in one, f"{area} is required for {one.get('Details/PropertyType')}")
    kinds = [item.get("medium") for item in media]
    errors.unless(kinds.count("image") >= 5 and kinds.count("video") <= 1, "Media needs five images and at most one video")
    errors.unless([item.get("primary") for item in media].count("true") == 1, "Media must have one primary image")


def check_listing(listing, errors):
    """Returns {path: text or texts}."""
    errors.place = f"listing {listing.findtext(NAMESPACE + 'ListingID')}"
    found = read_elements(listing, errors)
    text = {path: [element.text or "" for element in elements] for path, elements in found.items()}
    one = {path: values[0] for path, values in text.items() if RULES[path][0][1] == 1}
    media, location = found.get("Media/Item", []), listing.find(NAMESPACE + "Location")
    check_together(one, media, errors)
    return {**one, "Media/Item": media, "Details/Features/Feature": text.get("Details/Features/Feature", []),
            "display": None if location is None else location.get("displayAddress")}


def read_feed(content):
    """The listings of the document, as {path: text or texts}, and the errors."""
    errors, root = Errors(), ElementTree.fromstring(content)
    header, listings = root.find(NAMESPACE + "Header"), root.find(NAMESPACE + "Listings")
    errors.unless(root.tag == NAMESPACE + "ListingDataFeed", f"the root is {root.tag}")
    errors.unless(len(root) == 2 and header is root[0] and listings is root[1], "it must have a Header and Listings")
    if errors:
        return [], errors
    errors.unless([child.tag for child in header] == [NAMESPACE + name for name in HEADER], f"Header must have {', '.join(HEADER)}")
    for child, pattern in zip(header, HEADER.values()):
        errors.unless(re.fullmatch(pattern, child.text or ""), f"{child.tag} must match {pattern}")
    errors.unless(all(listing.tag == NAMESPACE + "Listing" for listing in listings), "Listings has other elements than Listing")
    checked = [check_listing(listing, errors) for listing in listings]
    errors.place, ids = "document", [one.get("ListingID") for one in checked]
    errors.unless(len(ids) == len(set(ids)), "a ListingID occurs twice")
    return checked, errors


def check_feed(content):
    """Checks the document, and returns its listings by ListingID."""
    listings, errors = read_feed(content)
    assert not errors, errors
    return {one["ListingID"]: one for one in listings}


def main(file=None):
    with open(file, "rb") if file else sys.stdin.buffer as document:
        listings, errors = read_feed(document.read())
    print(*errors, f"{len(listings)} listings, {len(errors)} errors", sep="\n")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
