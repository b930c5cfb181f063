# SPDX-License-Identifier: Apache-2.0
"""Parses the documentation pages for the tests."""

from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

PAGES = ("docs/", "docs/ways", "docs/reference", "docs/webhooks", "docs/events", "docs/sync", "docs/leads", "docs/rules", "docs/errors",
         "docs/privacy", "docs/console")
PROGRAMS = ("docs/console",)  # they have no contents list and need JavaScript
OPERATION = "docs/createProperty"  # one of the pages of the reference
EMPTY = {"meta", "link", "img", "br", "hr", "input"}  # elements without an end tag


class Page(HTMLParser):
    """elements: (name, attributes) of each element, in order, with "svg " before names in a drawing; ids; loaded and
    links: absolute URLs; text: the visible text; examples: (language, id, text) of each <pre><code>; inline: the
    text of scripts and styles."""

    def __init__(self, url, text):
        super().__init__()
        self.url, self.elements, self.ids, self.loaded, self.links, self.examples = url, [], [], [], [], []
        self.text, self.inline, self.open = "", "", []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, name, attributes):
        attributes = dict(attributes)
        self.elements.append((f"svg {name}" if "svg" in self.open else name, attributes))
        self.ids += [attributes["id"]] if "id" in attributes else []
        address = attributes.get("src") or attributes.get("href")
        if address:
            (self.links if name == "a" else self.loaded).append(urljoin(self.url, address))
        if name == "code" and self.open[-1:] == ["pre"]:
            self.examples.append((attributes.get("class", "").partition("language-")[2], attributes.get("id"), ""))
        if name not in EMPTY:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name, (self.url, name, self.getpos())

    def handle_data(self, data):
        if self.open[-1:] in (["script"], ["style"]):
            self.inline += data
        else:
            self.text += data
        if self.open[-2:] == ["pre", "code"]:
            language, name, text = self.examples[-1]
            self.examples[-1] = language, name, text + data

    def all(self, name):
        return [attributes for element, attributes in self.elements if element == name]


def samples(page, language):
    """The code samples of a page in one language, without those with an id, which have their own tests."""
    return [text for found, name, text in page.examples if found == language and not name]


def page_of(api, path):
    response = api.get(path)
    assert response.status_code == 200, (path, response.status_code)
    return Page(response.url, response.text)


def without_fragment(url):
    return urldefrag(url)[0]
