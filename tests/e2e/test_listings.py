# SPDX-License-Identifier: Apache-2.0
"""SetHandler neoapi-listings: portals read an organization's active properties as VRSync."""

import json
import re
import subprocess

import pytest
import requests
from admin_factory import AdminFactory, new_secret
from client import Api, ok
from deployment import Instance
from exports import READING, SlowExport
from factories import ResourceFactory
from raw_http import Broken, RawConnection
from vrsync import check_feed, read_feed
from wait import eventually

HERE = """
<Location "/listings">
    SetHandler neoapi-listings
</Location>
LogFormat "%r %U %u" listings
CustomLog "{log}" listings
"""
ROWS = 20_000
TOKEN = "{token}"
PHOTOS = [{"url": f"https://img.example.com/{n}.jpg", "caption": f"Foto {n}", "position": n} for n in range(5)]
ADDRESS = {"postal_code": "04101-300", "street": "Rua Vergueiro", "number": "2045", "complement": "Apto 82",
           "neighborhood": "Vila Mariana", "city": "São Paulo", "state": "SP", "latitude": -23.58934, "longitude": -46.63481}
LISTED = {
    "title": "Apartamento de 3 quartos na Vila Mariana", "description": "Sala com varanda e cozinha planejada.\nLazer completo perto do metrô.",
    "transaction_type": "sale", "usage_type": "residential", "property_type": "apartment", "status": "active", "sale_price": 98_000_050,
    "address": ADDRESS, "private_area": 92.5, "bedrooms": 3, "bathrooms": 2, "suites": 1, "parking_spaces": 2, "floor": 8,
    "year_built": 2014, "condo_fee": 115_000, "iptu_amount": 384_000, "iptu_period": "yearly", "media": PHOTOS,
    "features": ["piscina", "Portaria 24 horas", "Vista eterna"],
}


@pytest.fixture(scope="module")
def portal_instance(tmp_path_factory):
    folder = tmp_path_factory.mktemp("listings")
    conf = folder / "host.conf"
    conf.write_text(HERE.format(log=folder / "access.log"))
    made = Instance("listings", INSTANCE_CONF=str(conf))
    made.portal_log = folder / "access.log"
    try:
        yield made.up()
    finally:
        made.remove()


@pytest.fixture(scope="module")
def admin(portal_instance):
    return AdminFactory(portal_instance)


def create_feed(admin, organization):
    """A new feed: {id, secret}."""
    return admin.ctl("listings", "create", "ZAP", "--organization", organization, "--contact", "Imobiliária Boa & Bela",
                     "--email", "contato@boa.example.com", "--phone", "(11) 3450-4646")


class Portal:
    """An organization with a feed: its API, and requests to the feed."""

    def __init__(self, instance, admin):
        self.key = admin.key()
        self.api = Api(instance, self.key)
        self.make = ResourceFactory(self.api)
        self.feed = create_feed(admin, self.key.organizations[0])
        self.root = f"https://localhost:{instance.port}/listings/"
        self.session = requests.Session()
        self.session.verify, self.session.trust_env = str(instance.ca), False

    def get(self, path=None, method="GET", **more):
        return self.session.request(method, self.root + (self.feed["secret"] if path is None else path), **more)

    def listings(self):
        answer = self.get()
        assert answer.status_code == 200, answer.content
        assert answer.headers["Content-Type"] == "application/xml; charset=utf-8"
        return check_feed(answer.content)

    def add(self, **fields):
        return self.make.property(**{**LISTED, **fields})


@pytest.fixture
def portal(portal_instance, admin):
    return Portal(portal_instance, admin)


# ---------------------------------------------------------------- content


def test_a_feed_has_the_active_properties_of_its_organization(portal_instance, admin, portal):
    other = Portal(portal_instance, admin)
    first, foreign = portal.add(), other.add()
    portal.add(status="draft")
    second = portal.add(transaction_type="sale_rent", rent_price=420_000)
    assert portal.listings().keys() == {first["code"], second["code"]}
    assert other.listings().keys() == {foreign["code"]}
    ok(portal.api.patch("properties/" + first["id"], json={"status": "withdrawn"}))
    assert portal.listings().keys() == {second["code"]}


def test_a_listing_has_the_values_of_the_property(portal):
    made = portal.add()
    one = portal.listings()[made["code"]]
    expected = {
        "Title": LISTED["title"], "TransactionType": "For Sale", "Details/UsageType": "Residential",
        "Details/PropertyType": "Residential / Apartment", "Details/ListPrice": "980001", "Details/Iptu": "3840",
        "Details/PropertyAdministrationFee": "1150", "Details/LivingArea": "93", "Details/Bedrooms": "3", "Details/Bathrooms": "2",
        "Details/Suites": "1", "Details/Garage": "2", "Details/UnitFloor": "8", "Details/YearBuilt": "2014",
        "Details/Description": "Sala com varanda e cozinha planejada.<br>Lazer completo perto do metrô.",
        "Details/Features/Feature": ["Pool", "Concierge 24h"], "Location/State": "São Paulo", "Location/City": "São Paulo",
        "Location/Neighborhood": "Vila Mariana", "Location/PostalCode": "04101300", "ContactInfo/Name": "Imobiliária Boa & Bela",
        "ContactInfo/Email": "contato@boa.example.com", "ContactInfo/Telephone": "(11) 3450-4646", "display": "Neighborhood",
    }
    assert {name: one.get(name) for name in expected} == expected
    assert [item.text for item in one["Media/Item"]] == [photo["url"] for photo in PHOTOS]
    assert one["Media/Item"][0].get("caption") == "Foto 0"


@pytest.mark.parametrize(("display", "value", "shown"), [
    ("full", "All", {"Address", "StreetNumber", "Complement", "Latitude", "Longitude"}),
    ("street", "Street", {"Address"}),
    ("neighborhood", "Neighborhood", set()),
    (None, "Neighborhood", set()),
])
def test_a_listing_shows_as_much_of_the_address_as_allowed(portal, display, value, shown):
    made = portal.add(address_display=display)
    one = portal.listings()[made["code"]]
    private = {"Address", "StreetNumber", "Complement", "Latitude", "Longitude"}
    assert one["display"] == value and {name for name in private if "Location/" + name in one} == shown


def test_text_cannot_break_the_document(portal):
    bad = "Casa <b>boa</b> & \"bela\" <script>x</script> ]]> <<b>i> 2 < 3 \ufffe&amp;"
    made = portal.add(title=bad, description=bad * 3, code="A&<\"1>", media=[{**photo, "caption": bad} for photo in PHOTOS],
                      address={**ADDRESS, "city": "A & <B>", "neighborhood": "'\"]]>"})
    one = portal.listings()[made["code"]]
    assert one["Title"] == "Casa boa & \"bela\" x ]]> 2 < 3 &amp;"
    assert one["Location/Neighborhood"] == "'\"]]>" and "<b>" not in one["Media/Item"][0].get("caption")


def test_properties_that_a_portal_would_refuse_are_left_out(portal):
    good = portal.add(description="Sala.\n" + "x" * 2991)
    incomplete = [
        {"title": "Curto"}, {"title": None}, {"title": "<b>Casa</b>     boa"}, {"description": None}, {"description": "Curta"},
        {"description": "Sala.\n" + "x" * 2992}, {"media": PHOTOS[:4]},
        {"media": [{**photo, "mime_type": "image/png"} for photo in PHOTOS]}, {"private_area": None}, {"bedrooms": None},
        {"bathrooms": None}, {"sale_price": 1}, {"address": {**ADDRESS, "neighborhood": None}}, {"property_type": "lot"}]
    for fields in incomplete:
        portal.add(**fields)
    assert portal.listings().keys() == {good["code"]}


@pytest.mark.parametrize(("valid", "invalid"), [
    ("<Title>", "<Title>&lt;b&gt;"), ("<Description>", "<Description>&lt;i&gt;"), ("<Title>", "<Title><b/>"), ("For Sale", "For Rent"),
    ('medium="image" caption="Foto 4"', 'medium="video" caption="Foto 4"'), (' primary="true"', ""), ("<Bedrooms>", "<Bedrooms>-"),
    ("<LivingArea unit", "<Area unit"), ('currency="BRL"', 'currency="USD"'), ("<ListingID>", "<ListingID>x</ListingID><ListingID>"),
    ("</Listing>", "</Listing><Other/>"), ("<Provider>", "<Provider/><Provider>"), ("Z</PublishDate>", "</PublishDate>")])
def test_the_check_of_a_document_finds_what_violates_the_rules(portal, valid, invalid):
    portal.add()
    document = portal.get().text
    assert read_feed(document)[1] == [] and valid in document
    changed = document.replace(valid, invalid).replace("</LivingArea>", "</Area>" if "<Area" in invalid else "</LivingArea>")
    assert read_feed(changed)[1], changed


def test_photos_are_in_the_order_of_their_positions_and_one_video_precedes_them(portal):
    media = [{"url": f"https://img.example.com/{n}.jpg?x=1&y=2", "position": p} for n, p in enumerate((3, 1, None, 1, 0))]
    videos = [{"url": "https://www.youtube.com/watch?v=a&b=c"}, {"url": "https://youtu.be/d"}, {"url": "https://vimeo.com/1"}]
    made = portal.add(media=media + videos)
    items = portal.listings()[made["code"]]["Media/Item"]
    assert [item.text for item in items] == [videos[0]["url"]] + [media[n]["url"] for n in (4, 1, 3, 0, 2)]
    assert [item.get("primary") for item in items] == [None, "true", None, None, None, None]


# ---------------------------------------------------------------- the token


def test_only_a_valid_token_opens_a_feed(portal):
    portal.add()
    unknown = new_secret("lst_")[1]
    token = portal.feed["secret"]
    for path in (unknown, "x", "", token[:-1], token + "x", token + "/x", portal.key.secret):
        answer = portal.get(path)
        assert answer.status_code == 404 and answer.text == "not found\n", path
    assert portal.get(token + ".xml").status_code == 200
    answer = portal.get(method="POST")
    assert answer.status_code == 405 and answer.headers["Allow"] == "GET, HEAD"


def test_too_many_unknown_tokens_do_not_make_a_feed_unknown(portal_instance, portal):
    source = Api(portal_instance, portal.key, source="127.0.0.77")

    def ask(token):
        with RawConnection(source) as raw:
            raw.send(f"GET /listings/{token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            return raw.answer()

    assert any(ask(new_secret("lst_")[1]).status_code == 429 for _ in range(130))  # a minute may begin between
    answer = ask(portal.feed["secret"])
    assert answer.status_code == 429 and answer.content == b"too many unknown tokens\n"
    assert int(answer.headers["Retry-After"]) > 0
    assert portal.get().status_code == 200


def test_a_token_of_a_feed_is_no_credential_of_the_api(portal_instance, portal):
    answer = portal.api.get("properties", headers={"X-API-Key": portal.feed["secret"]})
    assert answer.status_code == 401


def test_a_revoked_token_is_404_at_once(admin, portal):
    assert portal.get().status_code == 200
    assert admin.ctl("listings", "revoke", portal.feed["id"]) == {"id": portal.feed["id"]}
    assert portal.get().status_code == 404
    row, = [row for row in admin.ctl("listings", "list") if row["id"] == portal.feed["id"]]
    assert row["revoked_at"] and portal.feed["secret"] not in str(row)
    admin.ctl("listings", "remove", portal.feed["id"])


def test_logs_and_mod_status_have_the_id_of_the_feed_and_not_the_token(portal_instance, portal):
    assert portal.get(portal.feed["secret"] + "?x=1").status_code == 200
    secret = portal.feed["secret"][31:]
    line = f"GET /listings/{portal.feed['id']} HTTP/1.1 /listings/{portal.feed['id']} {portal.feed['id']}"
    eventually(lambda: line in portal_instance.portal_log.read_text().splitlines(), "the log of the request")
    unknown_paths = [f"/listings/{TOKEN}/", f"/listings/{TOKEN}/feed.xml", f"/Listings/{TOKEN}", f"/x?feed={TOKEN}"]
    host, feed = "Host: localhost\r\n", f"/listings/{TOKEN}"
    heads = [(path, host) for path in unknown_paths] + [(feed, more) for more in (
        "", host + "Bad header\r\n", host + "Transfer-Encoding: x\r\n", host + "Expect: foo\r\n")]
    for path, more in heads:
        with RawConnection(portal.api) as raw:
            raw.send(f"GET {path.replace(TOKEN, portal.feed['secret'])} HTTP/1.1\r\n{more}Connection: close\r\n\r\n".encode())
            assert raw.answer().status_code >= 400, path
    lines = {f"GET {path.replace(TOKEN, portal.feed['id'])} HTTP/1.1 {path.split('?')[0].replace(TOKEN, portal.feed['id'])}"
             for path in unknown_paths}
    eventually(lambda: lines <= {line.rsplit(" ", 1)[0] for line in portal_instance.portal_log.read_text().splitlines()},
               "the logs of unknown paths")
    eventually(lambda: portal_instance.portal_log.read_text().count(portal.feed["id"] + " HTTP/1.1 ") >= 7, "the logs of refusals")
    logs = portal_instance.directory / "log"
    found = subprocess.run(["grep", "-rlE", secret[:20], logs, portal_instance.portal_log], capture_output=True, text=True)
    assert found.stdout == ""


# ---------------------------------------------------------------- entity tags


def test_a_feed_that_has_not_changed_is_304(portal):
    made = portal.add()
    first = portal.get()
    tag = first.headers["ETag"]
    answer = portal.get(headers={"If-None-Match": tag})
    assert answer.status_code == 304 and answer.content == b"" and answer.headers["ETag"].strip('"')[:16] == tag.strip('"')[:16]
    changes = [lambda: ok(portal.api.patch("properties/" + made["id"], json={"title": "Outro título do anúncio"})),
               lambda: portal.add(), lambda: ok(portal.api.patch("properties/" + made["id"], json={"status": "on_hold"}))]
    for change in changes:
        change()
        answer = portal.get(headers={"If-None-Match": tag})
        assert answer.status_code == 200 and answer.headers["ETag"] != tag
        tag = answer.headers["ETag"]
    portal.add(status="draft")
    assert portal.get(headers={"If-None-Match": tag}).status_code == 304
    assert portal.get().content == answer.content


def test_a_changed_contact_changes_the_tag(admin, portal):
    tag = portal.get().headers["ETag"]
    admin.ctl("listings", "change", portal.feed["id"], "--contact", "Outra")
    answer = portal.get(headers={"If-None-Match": tag})
    assert answer.status_code == 200 and b"<Provider>Outra</Provider>" in answer.content


def test_head_has_the_headers_of_get(portal):
    portal.add()
    answer = portal.get(method="HEAD")
    assert answer.status_code == 200 and answer.content == b"" and answer.headers["ETag"]


# ---------------------------------------------------------------- size and time


@pytest.fixture(scope="module")
def big(portal_instance, admin):
    """An organization with many properties, copies of one."""
    made = Portal(portal_instance, admin)
    one = made.add()
    columns = [row[0] for row in portal_instance.sql("select attname from pg_attribute where attrelid = 'neoapi.property'::regclass"
                                                     " and attnum > 0 and not attisdropped and attname <> 'representation'")]
    copied = [{"id": "'prp_01h' || lpad(n::text, 23, '0')", "code": "'C' || n"}.get(name, name) for name in columns]
    portal_instance.sql(f"insert into neoapi.property ({', '.join(columns)}) select {', '.join(copied)} from neoapi.property,"
                        " generate_series(1, %s) n where id = %s", ROWS, one["id"])
    return made


def test_a_large_feed_needs_little_memory(portal_instance, big):
    with portal_instance.memory_limited(4):
        for _ in range(3):
            answer = big.get()
    assert len(check_feed(answer.content)) == ROWS + 1


def test_a_feed_has_one_reader_at_a_time(portal_instance, admin, big):
    other = create_feed(admin, big.key.organizations[0])
    with SlowExport(big.api, "../../listings/" + big.feed["secret"]) as slow:
        assert slow.status == 200
        answer = big.get()
        assert answer.status_code == 429 and int(answer.headers["Retry-After"]) > 0
        assert big.get(other["secret"]).status_code == 200
        assert portal_instance.sql(READING), "the server waits for the client"
        assert len(check_feed(slow.rest())) == ROWS + 1
    eventually(lambda: big.get().status_code == 200, "the end of the first reader")


def test_a_revocation_ends_a_feed_in_progress(portal_instance, admin, big):
    feed = create_feed(admin, big.key.organizations[0])
    with SlowExport(big.api, "../../listings/" + feed["secret"]) as slow:
        admin.ctl("listings", "revoke", feed["id"])
        with pytest.raises(Broken):
            slow.rest()
    assert re.search(r"response aborted after \d+ bytes: the token was revoked", portal_instance.error_log)


# ---------------------------------------------------------------- the report


def test_the_report_says_why_properties_are_left_out(portal):
    portal.add()
    title = portal.add(title="Curto", private_area=None)
    photos = portal.add(media=PHOTOS[:4], status="draft")
    price = portal.add(sale_price=49)
    answer = portal.api.get("portal-problems", params={"status": "active"})
    assert answer.status_code == 200 and answer.headers["Content-Type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.content.splitlines()]
    assert lines == [
        {"id": price["id"], "code": price["code"], "status": "active",
         "problems": [{"field": "sale_price", "element": "Details/ListPrice", "message": "must be at least 100"}]},
        {"id": title["id"], "code": title["code"], "status": "active",
         "problems": [{"field": "title", "element": "Title", "message": "must have 10 to 100 characters, without HTML"},
                      {"field": "private_area", "element": "Details/LivingArea", "message": "is required"}]},
    ]
    line, = portal.api.get("portal-problems", params={"ids": photos["id"]}).content.splitlines()
    assert json.loads(line)["problems"] == [
        {"field": "media", "element": "Media", "message": "needs at least 5 photos in JPEG format"}]


def test_a_feed_and_its_report_have_all_active_properties(portal):
    cases = [{}, {"title": None}, {"description": "x"}, {"bedrooms": None}, {"transaction_type": "rent", "rent_price": 1}, {"media": []},
             {"property_type": "studio", "bedrooms": 0}, {"property_type": "kitnet", "bedrooms": None}, {"property_type": "garage"},
             {"property_type": "lot", "lot_area": 300}, {"property_type": "office", "bathrooms": None}]
    codes = {portal.add(**fields)["code"] for fields in cases}
    refused = {json.loads(line)["code"] for line in portal.api.get("portal-problems", params={"status": "active"}).content.splitlines()}
    assert refused | portal.listings().keys() == codes and not refused & portal.listings().keys() and len(refused) == 7


def test_the_report_of_many_properties_skips_those_without_problems(big):
    assert big.api.get("portal-problems").content == b""


def test_the_report_needs_the_scope_of_properties(portal_instance, admin, portal):
    key = admin.key(organization=portal.key.organizations[0], scopes=["brokers:read"])
    assert Api(portal_instance, key).get("portal-problems").status_code == 403
