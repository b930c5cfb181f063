# SPDX-License-Identifier: Apache-2.0
"""The public rules of VRSync (sources: doc/listings.md) as a table, and a check of a document against them."""

import re
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


def check_attributes(path, given, rules):
    names = {name.rstrip("?"): pattern for name, pattern in rules.items()}
    assert given.keys() <= names.keys(), (path, given)
    for name, pattern in rules.items():
        value = given.get(name.rstrip("?"))
        assert re.fullmatch(pattern, value) if value is not None else name.endswith("?"), (path, name, given)


def leaves(element, path=""):
    """The elements with text, with their paths. Checks the attributes of the others."""
    for child in element:
        assert child.tag.startswith(NAMESPACE), child.tag
        name = path + child.tag.removeprefix(NAMESPACE)
        if name in PARENTS:
            check_attributes(name, child.attrib, PARENTS[name])
            yield from leaves(child, name + "/")
        else:
            yield name, child


def check_listing(listing):
    """Returns {path: text or texts}."""
    found, order = {}, []
    for path, element in leaves(listing):
        assert path in RULES, path
        many, pattern, attributes = RULES[path]
        assert len(element) == 0 and re.fullmatch(pattern, element.text or ""), (path, element.text)
        check_attributes(path, element.attrib, attributes)
        found.setdefault(path, []).append(element)
        order.append(list(RULES).index(path))
    assert order == sorted(order), "the order of the elements"
    for path, ((least, most), *_) in RULES.items():
        assert least <= len(found.get(path, [])) <= most, path
    text = {path: [element.text for element in elements] for path, elements in found.items()}
    one = {path: values[0] for path, values in text.items() if RULES[path][0][1] == 1}
    assert not TAG.search(one["Title"]) and not TAG.search(one["Description"]) if "Description" in one else True
    assert ("Details/ListPrice" in one) == (one["TransactionType"] in ("For Sale", "Sale/Rent"))
    assert ("Details/RentalPrice" in one) == (one["TransactionType"] in ("For Rent", "Sale/Rent"))
    assert ("Details/LotArea" if one["Details/PropertyType"] in LOT_TYPES else "Details/LivingArea") in one
    media = found["Media/Item"]
    assert sum(item.get("medium") == "image" for item in media) >= 5 and sum(item.get("primary") == "true" for item in media) == 1
    assert sum(item.get("medium") == "video" for item in media) <= 1
    return {**one, "Media/Item": media, "Details/Features/Feature": text.get("Details/Features/Feature", []),
            "display": listing.find(NAMESPACE + "Location").get("displayAddress")}


def check_feed(content):
    """Checks the document, and returns its listings by ListingID."""
    root = ElementTree.fromstring(content)
    assert root.tag == NAMESPACE + "ListingDataFeed" and [child.tag for child in root] == [NAMESPACE + "Header", NAMESPACE + "Listings"]
    header, listings = root
    assert [child.tag for child in header] == [NAMESPACE + name for name in HEADER]
    for child, pattern in zip(header, HEADER.values()):
        assert re.fullmatch(pattern, child.text), child.tag
    checked = [check_listing(listing) for listing in listings]
    ids = [one["ListingID"] for one in checked]
    assert len(ids) == len(set(ids)) and all(listing.tag == NAMESPACE + "Listing" for listing in listings)
    return {one["ListingID"]: one for one in checked}
