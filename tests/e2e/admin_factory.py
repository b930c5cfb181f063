# SPDX-License-Identifier: Apache-2.0
"""Tenants, organizations, plans, users, keys and tokens for tests. They are inserted with SQL, because neoapictl needs a process for
each; it has tests of its own. Changes that must apply to all processes at once (revoke, set_plan) use neoapictl, which waits
for them."""

import hashlib
import itertools
import json
import secrets
import string
import subprocess
import time
import zlib
from dataclasses import dataclass

from wait import TIMEOUT_S

numbers = itertools.count(1)
BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


@dataclass(frozen=True)
class Credential:
    """A key or token: its id and its secret."""

    id: str
    secret: str
    tenant: str
    organizations: tuple  # that it has access to, in order
    user: str = None
    email: str = None


def digits(number, alphabet, width):
    return "".join(alphabet[number // len(alphabet) ** i % len(alphabet)] for i in reversed(range(width)))


def new_id(prefix):
    return prefix + digits(time.time_ns() // 1_000_000 << 80 | secrets.randbits(80), BASE32, 26)


def new_secret(prefix):
    """An id, its secret, and the hash of it to store (see include/core/secret.h)."""
    id, random = new_id(prefix), digits(secrets.randbits(256), BASE62, 43)
    text = f"{id}_{random}"
    return id, text + digits(zlib.crc32(text.encode()), BASE62, 6), hashlib.sha256(random.encode()).digest()


def run_ctl(instance, *args, given=""):
    """Runs neoapictl and returns its JSON output."""
    done = subprocess.run([instance.env["NEOAPI_CTL"], "--json", *args], input=given, text=True, capture_output=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return json.loads(done.stdout)


class AdminFactory:
    """All names are unique, so that tests are independent. `plenty` is a plan with limits that no test reaches."""

    def __init__(self, instance):
        self.instance = instance
        self.tenants = {}  # by organization
        self.people = {}  # tenant and e-mail address by user
        self.limits = [row[0] for row in instance.sql("select attname from pg_attribute where attrelid = 'neoapi.plan'::regclass"
                                                      " and attnum > 0 and not attnotnull")]  # that a plan can have
        self.plenty = self.plan()

    def ctl(self, *args):
        return run_ctl(self.instance, *args)

    def insert(self, table, **values):
        self.instance.sql(f"insert into neoapi.{table} ({', '.join(values)}) values ({', '.join(['%s'] * len(values))})",
                          *values.values())

    def plan(self, requests=10_000_000, window_seconds=60, **limits):
        """A new plan. Limits that are not given are unlimited."""
        name = f"plan-{secrets.token_hex(8)}"  # unique, because a prepared cluster (prepared_cluster.py) has plans of other processes
        self.insert("plan", name=name, requests=requests, window_seconds=window_seconds, **{**dict.fromkeys(self.limits), **limits})
        return name

    def tenant(self, plan=None):
        id = new_id("tnt_")
        self.insert("tenant", id=id, name=f"Tenant {next(numbers)}", plan=plan or self.plenty)
        return id

    def set_plan(self, tenant, plan):
        self.ctl("tenant", "change", tenant, "--plan", plan)

    def organization(self, tenant=None):
        """A new organization, in a new tenant by default."""
        tenant, id = tenant or self.tenant(), new_id("org_")
        self.insert("organization", id=id, tenant_id=tenant, name=f"Organization {next(numbers)}")
        self.tenants[id] = tenant
        return id

    def key(self, organization=None, role="org_admin", scopes=(), **more):
        """A new API key, for a new organization by default. `more` are further columns."""
        organization = organization or self.organization()
        id, secret, hash = new_secret("nbr_")
        tenant = self.tenants[organization]
        self.insert("credential", id=id, tenant_id=tenant, organization_id=organization, name=f"Key {next(numbers)}", role=role,
                    scopes=list(scopes) or None, secret_hash=hash, **more)
        return Credential(id, secret, tenant, (organization,))

    def user(self, tenant, role="org_admin"):
        id, number = new_id("usr_"), next(numbers)
        email = f"user{number}@example.com"
        self.insert("app_user", id=id, tenant_id=tenant, email=email, name=f"User {number}", role=role)
        self.people[id] = tenant, email
        return id

    def token(self, user, *organizations, **more):
        id, secret, hash = new_secret("pat_")
        tenant, email = self.people[user]
        self.insert("credential", id=id, tenant_id=tenant, user_id=user, name=f"Token {next(numbers)}", secret_hash=hash,
                    **more)
        for position, organization in enumerate(organizations, 1):
            self.insert("token_organization", credential_id=id, tenant_id=tenant, organization_id=organization, position=position)
        return Credential(id, secret, tenant, organizations, user, email)

    def revoke(self, credential):
        self.ctl("token" if credential.id.startswith("pat_") else "key", "revoke", credential.id)
