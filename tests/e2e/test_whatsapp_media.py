# SPDX-License-Identifier: Apache-2.0
"""GET /whatsapp/conversations/{id}/messages/{message_id}/media: a contact's attachment is read from Meta while it is sent to the client."""

import contextlib
import http.client
import secrets
import socket
import ssl
import threading
from urllib.parse import urlsplit

import pytest

from client import Api, ok, refused
from wait import TIMEOUT_S, eventually, together
from whatsapp import (PHONE, WhatsAppOrg, description, meta, module_admin_factory, module_instance, org,  # fixtures among them
                      provider)

from callbacks import message, text
from meta import answering, error

DOWNLOADS = 2
CONF = f"NeoAPIWhatsAppDownloads {DOWNLOADS}\nNeoAPIWebhookAllowAddress 127.0.0.0/8\n"
SETTINGS = {"PROCESSES": "1"}
LIST, PATH = "whatsapp/conversations/{}/messages", "whatsapp/conversations/{}/messages/{}/media"
JPEG, PNG, WEBP = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", b"RIFF\x24\x00\x00\x00WEBPVP8 "
MP4, OGG, PDF = b"\x00\x00\x00\x18ftypmp42\x00\x00", b"OggS\x00\x02" + bytes(12), b"%PDF-1.7\n%\xe2\xe3\n1 0 obj\n"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
NOTHING = "application/octet-stream"


def received(org, content=JPEG, mime_type="image/jpeg", kind="image", **more):
    """The path of the attachment of a message that a contact has sent, and the message."""
    org.notify(message(kind, PHONE, content=org.meta.attach(content, mime_type, **more)))
    id = org.conversations()[-1]["id"]
    found = ok(org.api.get(LIST.format(id)))["items"][0]
    return PATH.format(id, found["id"]), found


def read(org, path, api=None, **more):
    answer = (api or org.api).get(path, **more)
    description(org.instance).operation("get", "/whatsapp/conversations/{id}/messages/{message_id}/media").check(answer)
    return answer


@contextlib.contextmanager
def opened(org, path):
    """The response, whose body is not read."""
    at = urlsplit(org.instance.url)
    connection = http.client.HTTPSConnection(at.netloc, timeout=TIMEOUT_S, context=ssl.create_default_context(cafile=org.instance.ca))
    with contextlib.closing(connection):
        connection.request("GET", at.path + path, headers={"X-API-Key": org.api.credential.secret})
        yield connection.getresponse()


def downloaded(org, path):
    answer = read(org, path)
    assert answer.status_code == 200, answer.content
    return answer


# ---------------------------------------------------------------- what is sent


@pytest.mark.parametrize("kind, content, mime_type, extension", [
    ("image", JPEG + bytes(range(256)) * 1200, "image/jpeg", "jpg"), ("image", PNG, "image/png", "png"),
    ("sticker", WEBP, "image/webp", "webp"), ("audio", OGG, "audio/ogg; codecs=opus", "ogg"), ("video", MP4, "video/mp4", "mp4"),
    ("document", PDF, "application/pdf", "pdf"), ("document", b"PK\x03\x04" + bytes(40), DOCX, "docx")],
                         ids=["jpeg", "png", "webp", "ogg", "mp4", "pdf", "docx"])
def test_an_attachment_is_streamed_with_its_type(org, kind, content, mime_type, extension):
    path, found = received(org, content, mime_type, kind)
    answer = downloaded(org, path)
    assert answer.content == content and answer.headers["Content-Type"] == mime_type.partition(";")[0]
    name = f"{found['id']}.{extension}"
    assert answer.headers["Content-Disposition"] == f"attachment; filename=\"{name}\"; filename*=UTF-8''{name}"
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Cache-Control"] == "no-store"
    assert found["media_mime_type"] == mime_type and found["has_media"]
    head = org.api.head(path)
    assert head.status_code == 200 and head.headers["Content-Type"] == answer.headers["Content-Type"]


@pytest.mark.parametrize("content, mime_type", [
    (b"<html><script>alert(1)</script>", "image/jpeg"), (PNG, "image/jpeg"), (b"<svg/>", "image/svg+xml"), (b"<html>", "text/html"),
    (b"\xff\xd8", "image/jpeg"), (b"MZ\x90\x00", "application/pdf"), (b"", "image/png"), (b"a;b\n", "text/csv")],
                         ids=["html", "png", "svg", "text/html", "short", "exe", "empty", "csv"])
def test_a_content_that_is_not_of_its_type_is_sent_as_bytes(org, content, mime_type):
    path, _ = received(org, content, mime_type, "document")
    answer = downloaded(org, path)
    assert (answer.headers["Content-Type"], answer.content) == (NOTHING, content)
    assert answer.headers["Content-Disposition"].startswith("attachment;")


@pytest.mark.parametrize("filename, plain, encoded", [
    ("proposta.pdf", "proposta.pdf", "proposta.pdf"), ("Proposta João nº 2.pdf", "Proposta Jo_o n_ 2.pdf", None),
    ("../../etc/passwd", "etc_passwd", None), ('a"b\\c;d.pdf', "a_b_c;d.pdf", None), (".htaccess", "htaccess", "htaccess"),
    ("a\r\nSet-Cookie: x.pdf", "a  Set-Cookie_ x.pdf", None), ("nota\u202efdp.exe", "notafdp.exe", "notafdp.exe"), ("100%.pdf", "100_.pdf", "100_.pdf"),
    ("a" * 300 + ".pdf", "a" * 196 + ".pdf", None), ("...", None, None)], ids=range(10))
def test_the_file_name_is_safe(org, filename, plain, encoded):
    path, found = received(org, PDF, "application/pdf", "document", filename=filename)
    plain = plain or found["id"] + ".pdf"
    given = downloaded(org, path).headers["Content-Disposition"]
    before, after = given.split("; filename*=UTF-8''")
    assert before == f'attachment; filename="{plain}"' and (not encoded or after == encoded)
    assert after.isascii() and not set(after) & set(' "/\\;,')


def drip(handler, content, until):
    """Sends a byte now and then, so that no time limit ends the response, until the event. Returns how many were sent."""
    for n in range(1, TIMEOUT_S * 5):
        handler.wfile.write(content[n - 1:n])
        if until.wait(0.2):
            return n
    raise TimeoutError


def test_a_large_attachment_is_not_buffered(org):
    """The client reads a part while Meta has sent only half."""
    half, go_on = JPEG + secrets.token_bytes(4 << 20), threading.Event()

    def serve(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(2 * len(half)))
        handler.end_headers()
        handler.wfile.write(half)
        sent = drip(handler, half, go_on)
        handler.wfile.write(half[sent:])

    path, _ = received(org)
    org.meta.serving = serve
    with opened(org, path) as answer:
        assert answer.status == 200 and answer.read(len(half)) == half
        go_on.set()
        assert answer.read() == half


def test_the_attachment_is_not_stored(org):
    marker = secrets.token_hex(16).encode()
    path, _ = received(org, JPEG + marker)
    assert marker in downloaded(org, path).content
    for table in ("whatsapp_message", "whatsapp_conversation", "event", "idempotency_key"):
        (count,), = org.instance.sql(f"select count(*) from neoapi.{table} t where t::text like %s or t::text like %s",
                                    f"%{marker.decode()}%", f"%{marker.hex()}%")
        assert count == 0
    assert marker.decode() not in org.instance.error_log


# ---------------------------------------------------------------- what is refused


def test_a_message_without_an_attachment_of_the_contact_has_none(org):
    org.notify(text("Oi", PHONE))
    id = org.conversation()["id"]
    sent = ok(org.send(id, type="image", media_url="https://cdn.example.com/a.png"), 201)
    messages = ok(org.api.get(LIST.format(id)))["items"]
    assert sent in messages and len(messages) == 2
    for one in messages:
        refused(read(org, PATH.format(id, one["id"])), 404, "not_found.media")
    assert not org.meta.downloads


def test_a_deleted_message_has_no_attachment(org):
    path, found = received(org)
    org.notify(message("revoke", PHONE, content={"original_message_id": found["provider_message_id"]}))
    refused(read(org, path), 404, "not_found.media")


def test_an_unknown_message_is_not_found(org, module_admin_factory, meta):
    path, found = received(org)
    id, other = found["conversation_id"], WhatsAppOrg(org.instance, module_admin_factory, meta)
    elsewhere = org.opened(phone="5521987654321")
    for unknown in (PATH.format(id, "wam_" + "0" * 26), PATH.format(id, "x"), PATH.format(elsewhere, found["id"]),
                    PATH.format("wac_" + "0" * 26, found["id"]), PATH.format("x", found["id"])):
        refused(read(org, unknown), 404, "not_found.media")
    refused(read(org, path, api=other.api), 404, "not_found.media")
    assert not meta.downloads


def test_reading_needs_the_scope(org, module_admin_factory):
    path, _ = received(org)
    for scopes, expected in ((["whatsapp:write"], 403), (["whatsapp:read"], 200)):
        assert read(org, path, Api(org.instance, module_admin_factory.key(org.organization, scopes=scopes))).status_code == expected


def test_an_invalid_query_reads_nothing(org):
    path, _ = received(org)
    refused(read(org, path, params={"x": "1"}), 400, "validation.unknown_parameter")
    assert not org.meta.downloads


def test_a_message_that_was_sent_with_the_business_app_has_no_attachment_of_the_contact(org):
    path, found = received(org)
    org.instance.sql("update neoapi.whatsapp_message set direction = 'outbound', status = 'sent' where id = %s", found["id"])
    refused(read(org, path), 404, "not_found.media")
    assert not org.meta.downloads and not org.meta.reads


# ---------------------------------------------------------------- Meta's errors


MISSING = [{"reading": lambda handler: error(100)(handler, None)}, {"reading": lambda handler: error(100, error_subcode=33)(handler, None)},
           {"serving": lambda handler: handler.answer(404)}, {"serving": lambda handler: handler.answer(410)}]


@pytest.mark.parametrize("answers", MISSING, ids=["100", "100/33", "404", "410"])
def test_a_missing_attachment_is_expired_after_seven_days_only(org, answers):
    """Before, the token may lack a permission, or the number may have been moved."""
    path, found = received(org)
    vars(org.meta).update(answers)
    for days, status, code in ((6.9, 503, "internal.provider_unavailable"), (7.1, 404, "not_found.media")):
        org.instance.sql("update neoapi.whatsapp_message set occurred_at = now() - %s * interval '1 day' where id = %s", days, found["id"])
        refused(read(org, path), status, code)
    assert "NEO0419" in org.instance.error_log


@pytest.mark.parametrize("reading", [error(190), error(131016), error(4), answering(500), answering(200, b"{}", "application/json"),
                                     answering(200, b'{"url": 7}', "application/json")],
                         ids=["token", "unavailable", "busy", "500", "no url", "url 7"])
def test_an_error_of_meta_is_a_503(org, reading):
    path, _ = received(org)
    org.meta.reading = lambda handler: reading(handler, None)
    refused(read(org, path), 503, "internal.provider_unavailable")
    org.meta.reading = None
    downloaded(org, path)


@pytest.mark.parametrize("status", [302, 401, 403, 429, 500])
def test_an_error_of_the_download_is_a_503(org, status):
    path, _ = received(org)
    org.meta.serving = lambda handler: handler.answer(status, b"no", "text/html", Location=f"{org.meta.url}/attachments/1")
    refused(read(org, path), 503, "internal.provider_unavailable")
    assert len(org.meta.downloads) == 1  # a redirect is not followed


def hang(handler):
    handler.server.closing.wait(60)


def hang_within(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + JPEG[:4])
    handler.server.closing.wait(60)


def test_a_hung_download_has_a_deadline(org):
    path, _ = received(org)
    org.meta.serving = hang
    refused(read(org, path), 503, "internal.provider_unavailable")
    org.meta.serving = hang_within  # the first bytes decide about the type
    with pytest.raises(http.client.IncompleteRead), opened(org, path) as answer:
        answer.read()
    eventually(lambda: "NEO0210" in org.instance.error_log, "a log line")
    org.meta.serving = None
    downloaded(org, path)


@pytest.mark.parametrize("length", ["Content-Length: 400000\r\n", "Transfer-Encoding: chunked\r\n"])
def test_a_truncated_download_is_not_taken_for_complete(org, length):
    def serve(handler):
        handler.close_connection = True
        chunk = b"4E20\r\n" if "chunked" in length else b""
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + length.encode() + b"\r\n" + chunk + JPEG + bytes(20_000 - len(JPEG)))

    path, _ = received(org)
    org.meta.serving = serve
    with contextlib.suppress(http.client.IncompleteRead), opened(org, path) as answer:
        answer.read()
        assert answer.status == 503  # it was noticed before the response began


def test_a_download_that_is_too_large_is_refused(org):
    def serve(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (101 << 20) + JPEG)
        handler.server.closing.wait(60)

    path, _ = received(org)
    org.meta.serving = serve
    refused(read(org, path), 404, "not_found.media")


def test_the_number_of_downloads_is_limited_and_others_keep_a_part(org, module_admin_factory, meta):
    path, _ = received(org)
    other = WhatsAppOrg(org.instance, module_admin_factory, meta)
    other_path, _ = received(other)
    served = threading.Event()
    begun = []

    def serve(handler):
        handler.close_connection = True
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n" + JPEG)
        begun.append(handler)
        drip(handler, bytes(TIMEOUT_S * 5), served)

    meta.serving = serve
    answers = []
    first = threading.Thread(target=lambda: answers.append(org.api.with_().get(path)))
    first.start()
    eventually(lambda: len(begun) == 1, "the first download")
    asked = len(meta.reads)
    problem = refused(read(org, path), 503, "internal.unavailable")
    assert "attachments" in problem["detail"] and len(meta.reads) == asked  # Meta is not asked for the URL
    second = threading.Thread(target=lambda: answers.append(other.api.with_().get(other_path)))
    second.start()
    eventually(lambda: len(begun) == 2, "another organization's download")
    assert ok(org.api.get(LIST.format(org.conversation()["id"])))["items"]  # other requests are not affected
    served.set()
    first.join()
    second.join()
    assert [one.content.rstrip(b"\0") for one in answers] == [JPEG.rstrip(b"\0")] * 2
    downloaded(org, path)


def test_a_client_that_disconnects_frees_its_place(org):
    def serve(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(64 << 20))
        handler.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(64):
                handler.wfile.write(JPEG + bytes((1 << 20) - len(JPEG)))

    path, _ = received(org)
    org.meta.serving = serve
    for _ in range(2 * DOWNLOADS):
        def begin():
            with opened(org, path) as answer:
                return answer.status == 200 and answer.read(1 << 20)
        eventually(begin, "a free place")
    org.meta.serving = None
    eventually(lambda: org.api.get(path).status_code == 200, "the place is free")


# ---------------------------------------------------------------- where it is read from


def test_the_token_goes_to_no_other_server(org):
    """Also if its name, its port or its user look like Meta's."""
    path, _ = received(org)
    place = org.meta.url.removeprefix("http://")
    port = place.rpartition(":")[2]
    with Listener() as other:
        for url in (f"http://127.0.0.1:{other.port}/a", f"http://127.0.0.2:{port}/attachments/1", f"https://{place}/attachments/1",
                    f"http://x@{place}/attachments/1", f"http://{place}@127.0.0.1:{other.port}/", "http://lookaside.fbsbx.com/a",
                    "https://lookaside.fbsbx.com.example.com/a", "https://lookaside.fbsbx.com@127.0.0.1/a", "file:///etc/passwd",
                    "//127.0.0.1/a", "x", "https://lookaside.fbsbx.com:8443/a", f"http://127.0.0.1:{other.port}\\@{place}/a"):
            org.meta.attachment_url = url
            refused(read(org, path), 503, "internal.provider_unavailable")
        assert other.accepted == 0 and not org.meta.downloads
    assert "address_not_trusted" in org.instance.error_log and org.number.token not in org.instance.error_log


class Listener:
    """A server that counts the connections to it."""

    def __enter__(self):
        self.accepted, self.socket = 0, socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                self.socket.accept()[0].close()
                self.accepted += 1

    def __exit__(self, *_):
        self.socket.close()


def test_concurrent_reads_of_one_attachment_are_independent(org):
    path, _ = received(org, JPEG + bytes(100_000))

    def get():
        return eventually(lambda: next((one for one in [org.api.with_().get(path)] if one.status_code == 200), None), "the attachment")
    assert {answer.content for answer in together(*[get] * 6)} == {JPEG + bytes(100_000)}
