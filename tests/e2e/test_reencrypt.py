# SPDX-License-Identifier: Apache-2.0
"""Replacing the encryption key: neoapictl reencrypt, and what doctor says about the keys."""

import contextlib
import hashlib
import hmac
import json
import secrets
import subprocess
import uuid
from base64 import b64decode

import psycopg2
import pytest
from admin_factory import AdminFactory
from client import Api, ok
from ctl_database import new_database, own_database  # noqa: F401 (fixtures)
from ctl_instance import Ctl
from wait import TIMEOUT_S, eventually
from webhook_fixtures import HERE, receiver, running_instance, subscribe  # noqa: F401 (fixtures among them)

NUMBER = "access_token=a\napp_secret=b\n"
COLUMNS = ("select secret from neoapi.webhook_subscription union all select access_token from neoapi.whatsapp_number"
           " union all select app_secret from neoapi.whatsapp_number")


def new_key():
    return subprocess.run(["openssl", "rand", "-base64", "32"], check=True, text=True, capture_output=True).stdout


def is_signed(secret, arrival):
    """Whether one of the standard signatures is of this secret."""
    message = f"{arrival.headers['webhook-id']}.{arrival.headers['webhook-timestamp']}.".encode() + arrival.body
    mac = hmac.digest(b64decode(secret.removeprefix("whsec_")), message, hashlib.sha256)
    return any(hmac.compare_digest(b64decode(one.removeprefix("v1,")), mac)
               for one in arrival.headers["webhook-signature"].split())


class Deployment:
    """An instance with a secret of each kind, and the commands of an administrator."""

    def __init__(self, instance, receiver):
        self.instance, self.receiver, self.ctl = instance, receiver, Ctl(instance)
        self.file = instance.state / "neoapi.key"
        self.former = self.file.read_text()
        self.api = Api(instance, AdminFactory(instance).key())
        self.subscription = subscribe(self.api, receiver.url)
        self.secrets = [self.subscription["secret"], ok(self.api.post(f"webhooks/{self.subscription['id']}/rotate-secret"))["secret"]]
        subscribe(self.api, receiver.url, "broker.deleted", is_active=False)
        self.ctl.ok("whatsapp", "number", "create", "+55 11 4000-0001", "--organization", self.api.credential.organizations[0],
                    "--waba-id", "10000", "--phone-number-id", "10001", "--secrets", "-", *self.key_file, stdin=NUMBER)
        self.headers = {"Idempotency-Key": str(uuid.uuid4())}
        self.stored = self.create()

    @property
    def key_file(self):
        return "--key-file", str(self.file)

    def create(self):
        return ok(self.api.post("webhooks", json={"url": self.receiver.url, "events": ["broker.deleted"]}, headers=self.headers), 201)

    def use(self, keys):
        self.file.write_text(keys)
        self.instance.command("graceful")

    def found(self):
        _, out, _ = self.ctl.run("--json", "doctor", "--httpd-conf", "/nowhere", *self.key_file)
        return next(row for row in json.loads(out) if row["check"] == "encrypted secrets")

    def deliver(self):
        before = len(self.receiver.arrivals)
        ok(self.api.post(f"webhooks/{self.subscription['id']}/test"), 201)
        return self.receiver.wait_for(before + 1)[-1]


@pytest.fixture
def deployment(receiver):
    with running_instance("reencrypt", HERE) as instance:
        yield Deployment(instance, receiver)


def test_the_former_key_can_be_removed_while_httpd_serves_and_delivers(deployment):
    d = deployment
    assert d.found()["found"] == "all 7 can be decrypted" and d.found()["result"] == "ok"
    fresh = new_key()
    d.use(fresh + d.former)
    before = d.found()
    assert before["result"] == "pending" and "key 1 encrypts 0, key 2 encrypts 7" in before["found"]
    assert "neoapictl reencrypt" in before["fix"]
    rows = d.instance.sql("select id, updated_at from neoapi.webhook_subscription order by id")

    with d.ctl.start("--json", "reencrypt", *d.key_file) as process:
        brokers = 0
        while process.poll() is None or brokers < 20:
            d.api.broker()
            brokers += 1
        assert json.loads(process.stdout.read()) == {"reencrypted": 7, "first_key": 7, "other_keys": 0, "undecryptable": 0}
    arrivals = d.receiver.wait_for(brokers)
    assert all(is_signed(secret, one) for one in arrivals for secret in d.secrets)
    assert d.instance.sql("select id, updated_at from neoapi.webhook_subscription order by id") == rows
    assert d.ctl.json("reencrypt", *d.key_file)["reencrypted"] == 0
    after = d.found()
    assert after["result"] == "ok" and "key 1 encrypts 7, key 2 encrypts 0; a former key" in after["found"]

    d.use(fresh)
    assert d.found()["found"] == "all 7 can be decrypted"
    assert all(is_signed(secret, d.deliver()) for secret in d.secrets)
    assert d.create() == d.stored


def test_keys_of_signatures_are_encrypted_again(deployment):
    keys = pytest.importorskip("test_webhook_keys")
    d, path = deployment, f"webhooks/{deployment.subscription['id']}"
    first = ok(d.api.patch(path, json={"asymmetric_signature": "ed25519"}))["public_key"]
    second = ok(d.api.post(path + "/rotate-key", json={"overlap_hours": 1}))["public_key"]
    assert d.found()["found"] == "all 9 can be decrypted"
    fresh = new_key()
    d.use(fresh + d.former)
    assert d.ctl.json("reencrypt", *d.key_file)["reencrypted"] == 9
    d.use(fresh)
    assert d.found()["found"] == "all 9 can be decrypted"
    arrival = d.deliver()
    assert all(keys.is_signed(keys.load_key(one), arrival) for one in (first, second))


def test_nothing_is_encrypted_until_every_process_of_httpd_has_the_key(deployment):
    d = deployment
    d.file.write_text(new_key() + d.former)
    before = set(d.instance.sql(COLUMNS))
    assert "reload httpd on every host first" in d.ctl.refused("reencrypt", *d.key_file)
    assert set(d.instance.sql(COLUMNS)) == before
    assert all(is_signed(secret, d.deliver()) for secret in d.secrets)
    with d.ctl.start("--json", "reencrypt", *d.key_file) as process:
        d.instance.command("graceful")
        assert json.loads(process.stdout.read())["reencrypted"] == 7
    assert all(is_signed(secret, d.deliver()) for secret in d.secrets)
    d.file.write_text(new_key() + d.file.read_text())
    assert d.ctl.json("reencrypt", "--yes", *d.key_file)["reencrypted"] == 7


@contextlib.contextmanager
def locked(d, sql):
    with contextlib.closing(psycopg2.connect(d.instance.admin_dsn)) as other, other.cursor() as cursor:
        cursor.execute(sql, [d.subscription["id"]])
        yield


def test_a_locked_row_holds_nothing_up_and_the_command_resumes_also_after_a_kill(deployment):
    d = deployment
    d.use(new_key() + d.former)
    d.instance.sql("update neoapi.webhook_subscription set previous_secret_until = now()")
    before = set(d.instance.sql(COLUMNS))
    with locked(d, "select from neoapi.webhook_subscription where id = %s for update"):
        code, out, err = d.ctl.run("reencrypt", *d.key_file)
        assert code == 1 and "run the same command again" in err and out.split()[4:6] == ["other_keys", "1"]
    assert len(before & set(d.instance.sql(COLUMNS))) == 1
    assert d.ctl.json("reencrypt", *d.key_file)["reencrypted"] == 1

    d.use(new_key() + d.file.read_text())
    before = set(d.instance.sql(COLUMNS))
    with locked(d, "select from neoapi.webhook_subscription where id = %s for update"):
        process = d.ctl.start("reencrypt", *d.key_file)
        eventually(lambda: "key 1 encrypts 5, key 2 encrypts 1, key 3 encrypts 0" in d.found()["found"],
                   "all secrets but one have the new key")
        process.kill()
        process.communicate(timeout=TIMEOUT_S)
    assert len(before & set(d.instance.sql(COLUMNS))) == 1
    assert d.ctl.json("reencrypt", *d.key_file)["reencrypted"] == 1
    assert is_signed(d.secrets[1], d.deliver())


def test_secrets_without_a_key_are_reported_and_left(deployment):
    d = deployment
    d.file.write_text(new_key())
    before = set(d.instance.sql(COLUMNS))
    code, out, err = d.ctl.run("--json", "reencrypt", "--yes", *d.key_file)
    assert code == 1 and json.loads(out)["undecryptable"] == 7 and "cannot be decrypted" in err
    assert set(d.instance.sql(COLUMNS)) == before


def test_the_role_of_httpd_is_refused_and_its_doctor_names_no_key_to_remove(deployment):
    d = deployment
    d.file.write_text(d.former + new_key())
    assert "cannot administer" in d.ctl.refused("--database", d.instance.dsn, "reencrypt", *d.key_file)
    _, out, _ = d.ctl.run("--json", "--database", d.instance.dsn, "doctor", "--httpd-conf", "/nowhere", *d.key_file)
    found = next(row["found"] for row in json.loads(out) if row["check"] == "encrypted secrets")
    assert "all 6 that this role can read" in found and "removed" not in found
    assert "a former key that encrypts none can be removed a day after" in d.found()["found"]


def test_any_number_of_secrets_is_encrypted_in_pages(deployment):
    """Copies of one subscription in other organizations: a secret is bound to the id only."""
    d, copies = deployment, 2500
    columns, = d.instance.sql("select string_agg(column_name, ', ') from information_schema.columns where table_name ="
                              " 'webhook_subscription' and column_name <> 'organization_id'")
    d.instance.sql(f"insert into neoapi.webhook_subscription (organization_id, {columns[0]}) select %s || n, {columns[0]}"
                   " from neoapi.webhook_subscription, generate_series(1, %s) n where id = %s", secrets.token_hex(4), copies,
                   d.subscription["id"])
    d.instance.sql("insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status,"
                   " response_body, secret, expires_at) select organization_id, credential_id || n, gen_random_uuid(),"
                   " request_hash, status, response_body, secret, expires_at from neoapi.idempotency_key,"
                   " generate_series(1, %s) n where secret is not null", copies)
    d.use(new_key() + d.former)
    assert d.ctl.json("reencrypt", *d.key_file) == {"reencrypted": 7 + 3 * copies, "first_key": 7 + 3 * copies, "other_keys": 0,
                                                   "undecryptable": 0}
    assert f"all {7 + 3 * copies} can be decrypted; key 1 encrypts {7 + 3 * copies}, key 2 encrypts 0" in d.found()["found"]


def test_headers_of_subscriptions_are_encrypted_again(deployment):
    d = deployment
    ok(d.api.patch("webhooks/" + d.subscription["id"], json={"headers": {"X-Gateway-Token": "it's secret", "X-'": "2"}}))
    assert d.found()["found"] == "all 9 can be decrypted"
    sealed = d.instance.sql("select value from neoapi.webhook_header")
    fresh = new_key()
    d.use(fresh + d.former)
    assert eventually(lambda: d.ctl.run("--json", "reencrypt", *d.key_file)[0] == 0, "all processes have the key")
    d.use(fresh)
    assert d.found()["found"] == "all 9 can be decrypted"
    assert set(sealed).isdisjoint(d.instance.sql("select value from neoapi.webhook_header"))
    assert d.deliver().headers["x-gateway-token"] == "it's secret"
