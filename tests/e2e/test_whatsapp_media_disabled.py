# SPDX-License-Identifier: Apache-2.0
"""NeoAPIWhatsAppDownloads 0: attachments are not read, and Meta is not asked for them."""

from client import ok, refused
from whatsapp import PHONE, meta, module_admin_factory, module_instance, org, provider  # noqa: F401 (fixtures)

from callbacks import message

CONF = "NeoAPIWhatsAppDownloads 0\nNeoAPIWebhookAllowAddress 127.0.0.0/8\n"


def test_no_attachment_is_read(org):
    org.notify(message("image", PHONE, content=org.meta.attach(b"\xff\xd8\xff\xe0" + bytes(40))))
    id = org.conversation()["id"]
    found, = ok(org.api.get(f"whatsapp/conversations/{id}/messages"))["items"]
    problem = refused(org.api.get(f"whatsapp/conversations/{id}/messages/{found['id']}/media"), 503, "internal.unavailable")
    assert "disables" in problem["detail"] and not org.meta.reads and not org.meta.downloads
