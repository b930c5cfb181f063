# SPDX-License-Identifier: Apache-2.0
"""Attachments are read from public addresses only, unless NeoAPIWebhookAllowAddress lists them."""

from client import ok, refused
from whatsapp import PHONE, meta, module_admin_factory, module_instance, org, provider  # noqa: F401 (fixtures)

from callbacks import message


def test_an_internal_address_is_not_connected_to(org):
    org.notify(message("image", PHONE, content=org.meta.attach(b"\xff\xd8\xff\xe0" + bytes(40))))
    id = org.conversation()["id"]
    found, = ok(org.api.get(f"whatsapp/conversations/{id}/messages"))["items"]
    problem = refused(org.api.get(f"whatsapp/conversations/{id}/messages/{found['id']}/media"), 503, "internal.provider_unavailable")
    assert "configuration of the server" in problem["detail"]
    assert not org.meta.downloads and "blocked_address" in org.instance.error_log
