# SPDX-License-Identifier: Apache-2.0
"""GET /{collection}/export: a whole list in one snapshot, and the position in the event log that continues it."""

import json
import threading
import time
from contextlib import ExitStack

import pytest
from admin_factory import AdminFactory
from client import Api, ok, refused, wrong_fields
from event_log import events
from exports import READING, SlowExport, fill
from factories import NAMES, ResourceFactory
from raw_http import CONNECTION_LOST, Broken, RawConnection, message
from wait import eventually

ROWS = 20_000  # exceed the socket buffers between server and client


@pytest.fixture(scope="module")
def big(instance, admin_factory):
    """An organization with many brokers; returns a key to it."""
    key = admin_factory.key()
    fill(instance, key.organizations[0], ROWS)
    return key


@pytest.fixture
def big_api(instance, big):
    return Api(instance, big)


def listed(api, collection, **query):
    """All items of a list."""
    while query is not None:
        page = ok(api.get(collection, params={**query, "limit": 100}))
        yield from page["items"]
        info = page["page_info"]
        query = {**query, "cursor": info["end_cursor"]} if info["has_next_page"] else None


def exported(api, collection, **query):
    answer = api.get(collection + "/export", params=query)
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.content.splitlines()]


def used(answer):
    return int(answer.headers["X-RateLimit-Limit"]) - int(answer.headers["X-RateLimit-Remaining"])


# ---------------------------------------------------------------- content


def test_an_export_has_the_resources_of_the_list_byte_by_byte(own_api):
    make = ResourceFactory(own_api)
    for collection in NAMES:
        make.create(collection)
        make.create(collection)
    for collection in NAMES:
        answer = own_api.get(collection + "/export")
        ids = [item["id"] for item in listed(own_api, collection)]
        assert len(ids) >= 2 and answer.headers["Cache-Control"] == "no-store"
        assert answer.content.splitlines(keepends=True) == [own_api.get(f"{collection}/{id}").content + b"\n" for id in ids]


def test_an_export_has_more_rows_than_any_page_and_needs_little_memory(instance, big_api):
    with instance.memory_limited(4):
        for _ in range(4):
            rows = exported(big_api, "brokers")
    assert rows == list(listed(big_api, "brokers", visibility="private,public")) and len(rows) == ROWS


def test_filters_apply_to_an_export(big_api, own_api):
    assert exported(big_api, "brokers", visibility="public") == list(listed(big_api, "brokers", visibility="public"))
    make = ResourceFactory(own_api)
    broker = make.broker()
    one, other, _ = make.property(broker_id=broker["id"]), make.property(broker_id=broker["id"]), make.property()
    assert [row["id"] for row in exported(own_api, "properties", broker_id=broker["id"])] == [other["id"], one["id"]]
    assert wrong_fields(own_api.get("brokers/export?visibility=none&limit=5&cursor=x&x=y")) == {
        "visibility": "validation.parameter_invalid", "limit": "validation.unknown_parameter",
        "cursor": "validation.unknown_parameter", "x": "validation.unknown_parameter"}


def test_an_export_is_compressed_when_the_client_accepts_it(big_api):
    plain, compressed = (big_api.get("brokers/export", headers={"Accept-Encoding": coding}) for coding in ("identity", "gzip"))
    assert "Content-Encoding" not in plain.headers and compressed.headers["Content-Encoding"] == "gzip"
    assert compressed.content == plain.content


def test_an_empty_export_and_head_have_no_body(own_api, big_api):
    empty, head = own_api.get("documents/export"), big_api.head("brokers/export")
    for answer in (empty, head):
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["Content-Type"] == "application/x-ndjson" and answer.headers["X-Events-Position"]
    assert big_api.head("brokers/export?limit=1").status_code == 400


def test_an_export_needs_the_scope_of_the_list(instance, admin_factory, big):
    reader = admin_factory.key(big.organizations[0], scopes=["brokers:read"])
    api = Api(instance, reader)
    assert len(exported(api, "brokers", visibility="public")) == ROWS / 10
    refused(api.get("parties/export"), 403, "forbidden.insufficient_permissions")
    refused(api.post("brokers/export"), 405, "validation.method_not_allowed")
    refused(api.get("webhooks/export"), 403, "forbidden.insufficient_permissions")


def test_an_export_over_http_1_0_is_refused(big_api):
    """HTTP/1.0 cannot distinguish a complete response from an aborted one."""
    with RawConnection(big_api) as raw:
        answer = raw.send(message(big_api, "GET", "brokers/export", version="HTTP/1.0")).answer()
    refused(answer, 505, "validation.malformed_request")


# ---------------------------------------------------------------- the event log


def changes(api, stop):
    """Creates, updates and deletes brokers until it is stopped."""
    made = []
    while not stop.is_set():
        made.append(api.broker()["id"])
        api.patch("brokers/" + made[len(made) // 2], json={"name": f"Nome {len(made)}"})
        if len(made) % 3 == 0:
            api.delete("brokers/" + made.pop(0))


def follow(state, events_after):
    """Applies events as integrators do: the latest `updated_at` wins, and deletions are recorded."""
    deleted = {}
    for event in events_after:
        new, known = event["payload"], state.get(event["resource_id"]) or deleted.get(event["resource_id"])
        if known and known["updated_at"] >= new["updated_at"]:
            continue
        if event["type"] == "broker.deleted":
            deleted[new["id"]] = new
            state.pop(new["id"], None)
        else:
            state[new["id"]] = new
    return state


def test_following_the_log_from_the_position_of_an_export_misses_nothing(instance, own_api):
    organization, stop = own_api.credential.organizations[0], threading.Event()
    writers = [threading.Thread(target=changes, args=(own_api.with_(), stop)) for _ in range(4)]
    taken = []
    for writer in writers:
        writer.start()
    try:
        for _ in range(8):
            answer = own_api.get("brokers/export")
            taken.append((answer.headers["X-Events-Position"], [json.loads(line) for line in answer.content.splitlines()]))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    names = {item["id"]: item["name"] for item in listed(own_api, "brokers")}
    for position, rows in taken:
        after = events(instance, organization, position)
        assert {id: row["name"] for id, row in follow({row["id"]: row for row in rows}, after).items()} == names
    assert taken[0][0] < own_api.get("brokers/export").headers["X-Events-Position"]


# ---------------------------------------------------------------- the rate limit


def test_each_hundred_rows_count_as_a_request(instance, admin_factory):
    key = admin_factory.key(admin_factory.organization(admin_factory.tenant(admin_factory.plan(1000, 86400))))
    fill(instance, key.organizations[0], 250)
    api = Api(instance, key)
    before = used(api.get("me"))
    assert len(exported(api, "brokers")) == 250
    assert used(api.get("me")) == before + 3 + 1


def test_an_export_waits_for_the_rate_limit_and_leaves_a_fifth_of_it(instance, admin_factory):
    key = admin_factory.key(admin_factory.organization(admin_factory.tenant(admin_factory.plan(20, 2))))
    fill(instance, key.organizations[0], 3000)
    with SlowExport(Api(instance, key)) as export:
        started, statuses = time.monotonic(), []
        for _ in range(3):
            statuses.append(Api(instance, key).get("me").status_code)
            time.sleep(0.7)
        assert len(export.rest().splitlines()) == 3000
    assert time.monotonic() - started > 2 and statuses == [200, 200, 200]


# ---------------------------------------------------------------- limits


def test_an_organization_has_two_exports_at_a_time(instance, big_api, own_api):
    with SlowExport(big_api), SlowExport(big_api):
        eventually(lambda: len(instance.sql(READING)) == 2, "both wait for their clients")
        answer = big_api.get("brokers/export")
        refused(answer, 429, "rate_limit.exports")
        assert answer.headers["Retry-After"] == "30"
        assert exported(own_api, "brokers") == []
    eventually(lambda: big_api.head("brokers/export").status_code == 200, "the exports end with their connections")
    eventually(lambda: not instance.sql(READING), "their transactions end")


def test_a_tenant_has_three_exports_at_a_time_in_all_its_organizations(instance, big_api, admin_factory):
    tenant = admin_factory.tenant()
    apis = [Api(instance, admin_factory.key(admin_factory.organization(tenant))) for _ in range(3)]
    fill(instance, apis[0].credential.organizations[0], ROWS)
    fill(instance, apis[1].credential.organizations[0], ROWS)
    with ExitStack() as exports:
        for api in (apis[0], apis[0], apis[1]):
            assert exports.enter_context(SlowExport(api)).status == 200
        eventually(lambda: len(instance.sql(READING)) == 3, "all wait for their clients")
        assert "tenant" in refused(apis[2].get("brokers/export"), 429, "rate_limit.exports")["detail"]
        assert big_api.head("brokers/export").status_code == 200
    eventually(lambda: apis[2].head("brokers/export").status_code == 200, "the exports end with their connections")


def test_an_export_that_takes_too_long_is_aborted(instance, big_api, log_since):
    """The limit of the second host is two seconds."""
    api = big_api.with_(url=f"https://127.0.0.2:{instance.port}/public/v1/")
    with SlowExport(api) as export:
        eventually(lambda: "longer than NeoAPIExportTimeout" in log_since(), "it is aborted", 15)
        assert not instance.sql(READING)
        with pytest.raises(Broken):
            export.rest()


def over_http_2(api, when_begun):
    """Reads an export over HTTP/2. Returns its bytes, and whether the server ended it as complete."""
    h2 = pytest.importorskip("h2.connection")
    kinds = pytest.importorskip("h2.events")
    connection, tls, body, is_begun = h2.H2Connection(), api.connect("h2"), b"", False
    connection.initiate_connection()
    connection.send_headers(1, [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"),
                                (":path", "/public/v1/brokers/export"), ("x-api-key", api.credential.secret)], end_stream=True)
    with tls:
        while True:
            try:
                tls.sendall(connection.data_to_send())
                data = tls.recv(65536)
            except CONNECTION_LOST:
                data = b""
            if not data:
                return body, False
            for event in connection.receive_data(data):
                if isinstance(event, kinds.DataReceived):
                    body += event.data
                    if not is_begun:
                        when_begun()
                        is_begun = True
                    connection.acknowledge_received_data(event.flow_controlled_length, 1)
                elif isinstance(event, kinds.StreamEnded):
                    return body, True
                elif isinstance(event, (kinds.StreamReset, kinds.ConnectionTerminated)):
                    return body, False


def end_backends(instance):
    """Kills the PostgreSQL process of the export."""
    eventually(lambda: instance.sql(f"select pg_terminate_backend(pid) from ({READING}) r"), "an export waits for its client")


def test_an_export_whose_database_connection_ends_is_incomplete(instance, big_api, log_since):
    with SlowExport(big_api) as export:
        end_backends(instance)
        with pytest.raises(Broken):
            export.rest()
    eventually(lambda: "NEO0210" in log_since() and "the database failed" in log_since(), "the log message")
    assert len(exported(big_api, "brokers")) == ROWS


def test_over_http_2_an_export_is_complete_or_its_stream_is_not_ended(instance, big_api):
    body, is_complete = over_http_2(big_api, lambda: None)
    assert is_complete and body == big_api.get("brokers/export").content
    part, is_complete = over_http_2(big_api, lambda: end_backends(instance))
    assert not is_complete and len(part) < len(body)


@pytest.mark.parametrize("change", [["revoke"], ["change", "--role", "org_admin", "--scope", "parties:read"]],
                         ids=["revoked", "reduced"])
def test_a_credential_that_loses_its_rights_ends_its_exports_at_once(instance, big, admin_factory, log_since, change):
    keys = [admin_factory.key(big.organizations[0]) for _ in range(2)]

    def lose_rights(key):
        admin_factory.ctl("key", change[0], key.id, *change[1:])
    with SlowExport(Api(instance, keys[0])) as export:
        lose_rights(keys[0])
        with pytest.raises(Broken):
            export.rest()
    part, is_complete = over_http_2(Api(instance, keys[1]), lambda: lose_rights(keys[1]))
    assert part and not is_complete
    eventually(lambda: log_since().count("the credential was revoked, or lost its rights") == 2, "the log messages")


@pytest.mark.slow
def test_a_client_that_reads_nothing_is_disconnected(instance, big_api, log_since):
    with SlowExport(big_api) as export:
        eventually(lambda: "the client read too slowly" in log_since(), "it is aborted", 45)
        assert not instance.sql(READING)
        with pytest.raises(Broken):
            export.rest()


@pytest.mark.slow
def test_a_process_limits_its_exports_and_aborts_them_when_it_stops(new_instance, tmp_path):
    conf = tmp_path / "exports.conf"
    conf.write_text("NeoAPIExports 1\n")
    instance = new_instance(PROCESSES="1", INSTANCE_CONF=str(conf))
    admin_factory = AdminFactory(instance)
    api, other = (Api(instance, admin_factory.key()) for _ in range(2))
    fill(instance, api.credential.organizations[0], ROWS)
    with SlowExport(api) as export:
        answer = other.get("brokers/export")
        refused(answer, 503, "internal.unavailable")
        assert answer.headers["Retry-After"] == "30"
        ok(other.get("brokers"))
        instance.command("graceful")
        assert len(export.rest().splitlines()) == ROWS
    with SlowExport(api) as export:
        instance.command("stop-httpd")
        with pytest.raises(Broken):
            export.rest()
    instance.command("start-httpd")
