# SPDX-License-Identifier: Apache-2.0
"""Tests the documentation pages: headers, Content-Security-Policy, links, contents, caching, and their build."""

import hashlib
import json
import math
import re
from urllib.parse import urldefrag
from xml.etree import ElementTree

import pytest
from client import ok, refused
from factories import NAMES
from pages import OPERATION, PAGES, PROGRAMS, Page, page_of, without_fragment


@pytest.fixture(params=(*PAGES, OPERATION))
def page(request, anonymous):
    return page_of(anonymous, request.param)


@pytest.fixture
def assets(anonymous):
    """The URLs of scripts, style sheets and images."""
    return sorted({url for path in (*PAGES, OPERATION) for url in page_of(anonymous, path).loaded})


def parse_policy(response):
    rules = [rule.split() for rule in response.headers["Content-Security-Policy"].split(";")]
    assert len({rule[0] for rule in rules}) == len(rules)
    return {rule[0]: rule[1:] for rule in rules}


# ---------------------------------------------------------------- served


@pytest.mark.parametrize("path", PAGES)
def test_a_page_needs_no_credential_and_ignores_an_invalid_one(anonymous, path):
    response = anonymous.get(path)
    assert response.status_code == 200 and response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["X-Content-Type-Options"] == "nosniff" and response.headers["Referrer-Policy"] == "no-referrer"
    assert anonymous.with_(credential="nonsense").get(path).content == response.content
    assert anonymous.head(path).headers["Content-Type"] == "text/html; charset=utf-8"
    assert anonymous.options(path).headers["Allow"] == "GET, HEAD, OPTIONS"
    refused(anonymous.post(path), 405, "validation.method_not_allowed")
    refused(anonymous.get(path + "?x=1"), 400, "validation.unknown_parameter")


def test_page_requests_count_against_the_address(anonymous):
    before, after = (int(anonymous.get("docs/").headers["X-RateLimit-Remaining"]) for _ in range(2))
    assert after == before - 1


def test_a_page_is_revalidated_with_its_etag(anonymous):
    for path in PAGES:
        first = anonymous.get(path)
        assert "no-cache" in first.headers["Cache-Control"]
        again = anonymous.get(path, headers={"If-None-Match": first.headers["ETag"]})
        assert again.status_code == 304 and again.headers["Content-Security-Policy"] == first.headers["Content-Security-Policy"]
        assert anonymous.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_the_url_without_a_trailing_slash_redirects(anonymous):
    response = anonymous.get("docs")
    assert response.status_code == 308 and response.headers["Location"] == "docs/"


def test_an_unknown_page_is_not_found(anonymous, api):
    for path in ("docs/start", "docs/errors/", "docs/errors/x", "docs/style.css", "docs/frame.html", "docs/createbroker"):
        for client in (api, anonymous):
            refused(client.get(path), 404, "not_found.route")


# ---------------------------------------------------------------- external resources


@pytest.mark.parametrize("path", PAGES)
def test_the_content_security_policy_is_strict(anonymous, path):
    policy = parse_policy(anonymous.get(path))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == ["'none'"]
    assert policy["style-src"] == policy["script-src"] == ["'self'"]
    assert policy["connect-src"] == policy["img-src"] == ["'self'"]


def test_a_page_has_no_external_resources_and_no_inline_code(page, instance):
    for url in page.loaded + page.links:
        assert url.startswith(instance.url), url
    assert not page.inline.strip()
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in names if name == "style" or name.startswith("on")]
    assert all(script["src"] for script in page.all("script"))
    more = {"docs/reference": 1, OPERATION: 1, "docs/console": 1}.get(page.url.removeprefix(instance.url), 0)
    assert len(page.all("script")) == 2 + more
    for link in page.all("link"):
        assert link["rel"] in ("icon", "stylesheet"), link


def test_style_sheets_load_no_resources(anonymous, assets):
    sheets = [url for url in assets if url.endswith(".css")]
    assert len(sheets) == 2
    for url in sheets:
        text = anonymous.get(url).text
        assert "@import" not in text and "sourceMappingURL" not in text
        assert "url(" not in text


# ---------------------------------------------------------------- links


def test_every_link_has_an_existing_target(anonymous):
    pages = {anonymous.url + path: page_of(anonymous, path) for path in PAGES}
    for page in pages.values():
        for url in page.loaded + page.links:
            at, fragment = urldefrag(url)
            if at not in pages:
                assert anonymous.get(at).status_code == 200, url
            assert not fragment or fragment in pages[at].ids, url


def test_every_page_links_to_every_other(anonymous):
    for path in PAGES:
        assert {anonymous.url + other for other in PAGES} <= {without_fragment(url) for url in page_of(anonymous, path).links}


def test_documentation_urls_of_errors_exist_on_the_page(anonymous, api, own_api):
    proposal = own_api.post("proposals", json={"kind": "?", "payment_terms": [{"amount": "x"}, 5], "property_id": "prp_x"})
    problems = [api.get("nothing"), api.get("brokers/brk_x"), anonymous.get("me"), api.post("me"), proposal,
                api.post("brokers", json={}), api.get("brokers?limit=0"), api.patch("parties/pty_x", json={})]
    page = page_of(anonymous, "docs/errors")
    for problem in (response.json() for response in problems):
        at, fragment = urldefrag(problem["documentation_url"])
        assert at == page.url and fragment == problem["code"] and fragment in page.ids, problem
        for item in problem.get("errors", []):
            assert item["code"] in page.ids, item


def test_the_404_of_an_unknown_path_leads_to_the_reference(anonymous, own_api):
    problem = refused(own_api.get("webhook/subscriptions"), 404, "not_found.route")
    reference = problem["detail"].split()[-3]
    assert reference == anonymous.url + "docs/reference" and anonymous.get(reference).status_code == 200
    problem = refused(own_api.get("webhooks/subscriptions"), 404, "not_found.webhook")
    assert problem["detail"].startswith("The organization has no webhook with this id. Its ids look like whs_")
    delivery = refused(own_api.get(f"webhooks/{'whs_' + '0' * 26}/deliveries/last"), 404, "not_found.delivery")
    assert "whd_" in delivery["detail"]
    unknown = refused(own_api.get("webhooks/whs_" + "0" * 26), 404, "not_found.webhook")
    assert unknown["detail"] == "The organization has no webhook with this id."


# ---------------------------------------------------------------- structure and accessibility


def test_a_page_is_well_formed_and_accessible(page):
    assert page.all("html") == [{"lang": "en"}]
    assert "width=device-width" in [meta for meta in page.all("meta") if meta.get("name") == "viewport"][0]["content"]
    assert len(page.all("title")) == len(page.all("h1")) == len(page.all("main")) == 1
    assert "main" in page.ids and page.links[0].endswith("#main")  # the first link skips the navigation
    assert all("alt" in image for image in page.all("img"))
    assert all(nav["aria-label"] for nav in page.all("nav"))
    assert [link for link in page.all("a") if link.get("aria-current") == "page"]
    assert len(page.ids) == len(set(page.ids))
    levels = [int(name[1]) for name, _ in page.elements if re.fullmatch("h[1-6]", name)]
    assert all(deeper <= level + 1 for level, deeper in zip(levels, levels[1:]))


@pytest.mark.parametrize("path", [path for path in PAGES if path not in ("docs/reference", *PROGRAMS)])
def test_the_contents_list_every_heading(anonymous, path):
    text = anonymous.get(path).text
    contents = re.search('<nav class="contents".*?</nav>', text, re.S)[0]
    anchors = re.findall('<h[23] id="([^"]+)">|<article id="([^"]+)">\n<h3>', text)
    assert len(anchors) == len(re.findall("<h[23][ >]", text))
    listed = [heading or article for heading, article in anchors if not heading.startswith("register-")]  # those of the register's tables are not listed
    assert listed == re.findall('href="#([^"]+)"', contents)


def test_titles_are_unique(anonymous):
    titles = [re.search("<title>(.*)</title>", anonymous.get(path).text)[1] for path in PAGES]
    assert len(set(titles)) == len(PAGES)


def test_examples_name_the_deployment(anonymous, second_host_api):
    assert anonymous.url + "me" in page_of(anonymous, "docs/").text
    assert "https://api.example.com/public/v1/me" in Page("", second_host_api.get("docs/").text).text


# ---------------------------------------------------------------- assets


def test_assets_are_cacheable_under_names_with_a_content_hash(anonymous, assets):
    assert len(assets) == 7
    for url in assets:
        response = anonymous.get(url)
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert hashlib.sha256(response.content).hexdigest()[:8] == url.split(".")[-2], url
        assert anonymous.get(url, headers={"If-None-Match": response.headers["ETag"]}).status_code == 304


@pytest.mark.parametrize("path", ["docs/errors", "docs/search.json", "style"])
@pytest.mark.parametrize("accepted, coding", [
    ("gzip", "gzip"), ("gzip, deflate, br, zstd", "gzip"), ("br, *", "gzip"), ("gzip;q=0.1", "gzip"),
    ("identity", None), ("gzip;q=0", None), ("br", None), ("", None)])
def test_documents_are_sent_compressed_if_accepted(anonymous, assets, path, accepted, coding):
    url = next(url for url in assets if "style" in url) if path == "style" else anonymous.url + path
    response = anonymous.get(url, headers={"Accept-Encoding": accepted})
    assert response.headers.get("Content-Encoding") == coding and "Accept-Encoding" in response.headers["Vary"]
    assert response.content == anonymous.get(url).content
    again = anonymous.get(url, headers={"Accept-Encoding": accepted, "If-None-Match": response.headers["ETag"]})
    assert again.status_code == 304


def test_the_error_example_of_the_first_page_equals_the_response(own_api):
    problem = own_api.post("brokers", json={}).json()
    shown, = [text for _, _, text in page_of(own_api, "docs/").examples if '"type"' in text]
    for name in ("type", "title", "status", "detail", "code"):
        assert f'"{name}": {json.dumps(problem[name])},' in shown, (name, problem)
    item = problem["errors"][0]
    assert item["message"] in shown and item["field"] in shown


def test_responses_have_a_position_in_the_event_log_if_it_is_documented(own_api):
    """Events can be followed from this position. `GET /events` has it only with order=asc."""
    header, documented = "X-Events-Position", []
    for path, item in own_api.description()["paths"].items():
        described = item.get("get", {}).get("responses", {}).get("200")
        if described is None or "{" in path or path == "/subjects":  # it needs a person
            continue
        query = {"/events": {"order": "asc"}, "/.well-known/jwks.json": {"organization_id": own_api.credential.organizations[0]}}
        answer = own_api.get(path[1:], params=query.get(path, {}))
        assert answer.status_code == 200 and (header in answer.headers) == (header in described["headers"]), path
        if header in answer.headers:
            documented.append(path)
            assert ok(own_api.get("events", params={"order": "asc", "after": answer.headers[header]}))["items"] == []
    assert sorted(documented) == sorted(["/events", "/portal-problems", *(f"/{name}/export" for name in NAMES)])
    assert header not in own_api.get("events").headers


# ---------------------------------------------------------------- diagrams


def distance(points, box):
    """Of the nearest point to the middle of a box."""
    x, y = (sum(one) / len(box) for one in zip(*box))
    return min(math.hypot(px - x, py - y) for px, py in points)


def points_in(text):
    return [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+),(-?[\d.]+)", text)]


def test_the_diagrams_show_the_transitions_of_the_tables(anonymous):
    page = anonymous.get("docs/rules").text
    diagrams = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg class=\"diagram\".*?</svg>", page, re.S)]
    tables = [set(re.findall(r'data-label="From"><code>(\w+)</code></td><td data-label="To"><code>(\w+)', table))
              for table in re.findall(r"<caption>Transitions.*?</table>", page, re.S)]
    effects = re.findall(r'data-label="Property is">(.*?)</td><td data-label="Becomes"><code>(\w+)', page)
    tables.insert(2, {(status, becomes) for before, becomes in effects for status in re.findall(r"<code>(\w+)", before)})
    assert len(diagrams) == len(tables) == 4 and all(tables)
    for diagram, changes in zip(diagrams, tables):
        groups = [{one.tag: one for one in group} for group in diagram.iter("g")]
        boxes = {one["text"].text: points_in(one["path"].get("d")) for one in groups if "text" in one}
        heads = {tuple(one["title"].text.split(" → ")): points_in(one["polygon"].get("points"))
                 for one in groups if "title" in one}
        assert set(heads) == changes and set(boxes) == {status for change in changes for status in change}
        for (before, after), head in heads.items():
            assert distance(head, boxes[after]) < distance(head, boxes[before]), (before, after)


# ---------------------------------------------------------------- the reference


def test_every_operation_has_a_page_that_the_reference_links(anonymous):
    document, reference = anonymous.description(), page_of(anonymous, "docs/reference")
    operations = [operation for item in document["paths"].values() for operation in item.values() if "operationId" in operation]
    linked = [url.removeprefix(anonymous.url + "docs/") for url in reference.links]
    for operation in operations:
        name = operation["operationId"]
        page = page_of(anonymous, "docs/" + name)
        assert linked.count(name) == 1 and operation["summary"] in page.text
        is_form = "application/x-www-form-urlencoded" in operation.get("requestBody", {}).get("content", {})
        languages = [language for language, name, _ in page.examples if not name]
        assert is_form or languages[:5] == ["sh", "python", "ts", "php", "go"], name
        assert "responses" in page.ids and len(page.ids) == len(set(page.ids)), name
    assert len(operations) > 100


def test_the_page_of_an_operation_has_its_parameters_and_the_fields_of_bodies(anonymous):
    page = page_of(anonymous, "docs/createProperty")
    for text in ("Idempotency-Key", "X-Organization-ID", "transaction_type", "address.city", "owners[].share_bps", "required",
                 "one of sale, rent, sale_rent", "1 to 200 characters", "array of object", "201", "409", "conflict.duplicate"):
        assert text in page.text, text
    listed = page_of(anonymous, "docs/listProperties").text
    for text in ("items[].code", "sale_price_gte", "page_info.end_cursor", "X-Total-Count"):
        assert text in listed, text


def test_the_page_of_a_batch_links_to_the_section_about_batches(anonymous, api):
    section = anonymous.url + "docs/#batch"
    described = api.description()["paths"]["/properties/batch"]["post"]
    assert described["externalDocs"] == {"description": "Batches", "url": section}
    assert section in page_of(anonymous, "docs/batchProperties").links and "batch" in page_of(anonymous, "docs/").ids


def test_a_page_of_the_reference_is_small(anonymous):
    """Everything that a browser loads for it, with gzip where it is offered."""
    for path in ("docs/reference", "docs/batchProperties"):
        page = page_of(anonymous, path)
        sizes = [len(anonymous.raw(anonymous.head_of("GET", url.removeprefix(anonymous.url), Accept_Encoding="gzip")).content)
                 for url in [page.url, *page.loaded]]
        assert len(sizes) > 4 and sum(sizes) < 200_000, sizes


# ---------------------------------------------------------------- the search


def test_the_index_of_the_search_leads_to_existing_sections(anonymous):
    sections = ok(anonymous.get("docs/search.json"))
    pages = {path: page_of(anonymous, "docs/" + path) for path in {section[0].removeprefix("./") for section in sections}}
    assert len(pages) > 100
    for path, anchor, title, heading, text in sections:
        page = pages[path.removeprefix("./")]
        assert not anchor or anchor in page.ids, (path, anchor)
        assert title and heading and "<" not in title and "&lt;" not in text, (path, anchor)
    found = [(path, anchor) for path, anchor, _, heading, text in sections if "Idempotency-Key" in text or "Idempotency" in heading]
    assert ("createBroker", "parameters") in found
