"""Making tenants, organizations, plans, keys and tokens with neoapictl, as an administrator does."""

import itertools
import json
import subprocess
from dataclasses import dataclass

from wait import TIMEOUT_S

numbers = itertools.count(1)


@dataclass(frozen=True)
class Credential:
    """A key or token: what the API calls it, and what its owner sends."""

    id: str
    secret: str
    tenant: str
    organizations: tuple  # those it reaches, in order
    user: str = None
    email: str = None


def run_ctl(instance, *args):
    """What neoapictl prints, as JSON."""
    done = subprocess.run([instance.env["NEOAPI_CTL"], "--json", *args], text=True, capture_output=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return json.loads(done.stdout)


class AdminFactory:
    """Every name is new, so that tests do not meet. `plenty` is a plan that no test uses up."""

    def __init__(self, instance):
        self.instance = instance
        self.tenants = {}  # of organizations
        self.people = {}  # the tenant and address of users
        self.prepared_keys = instance.prepared["keys"]
        self.plenty = instance.prepared.get("plan") or self.plan(10_000_000, 60)

    def ctl(self, *args):
        return run_ctl(self.instance, *args)

    def plan(self, requests, window_seconds):
        name = f"plan-{next(numbers)}"
        self.ctl("plan", "add", name, "--requests", str(requests), "--window", str(window_seconds))
        return name

    def tenant(self, plan=None):
        return self.ctl("tenant", "add", f"Tenant {next(numbers)}", "--plan", plan or self.plenty)["id"]

    def set_plan(self, tenant, plan):
        self.ctl("tenant", "set-plan", tenant, plan)

    def organization(self, tenant=None):
        """In a tenant of its own by default."""
        if tenant is None and self.prepared_keys:
            return self.prepared_key().organizations[0]
        tenant = tenant or self.tenant()
        made = self.ctl("organization", "add", f"Organization {next(numbers)}", "--tenant", tenant)["id"]
        self.tenants[made] = tenant
        return made

    def prepared_key(self):
        tenant, organization, id, secret = self.prepared_keys.pop()
        self.tenants[organization] = tenant
        return Credential(id, secret, tenant, (organization,))

    def key(self, organization=None, role="org_admin", scopes=()):
        """To an organization of its own by default."""
        if organization is None and role == "org_admin" and not scopes and self.prepared_keys:
            return self.prepared_key()
        organization = organization or self.organization()
        narrower = [word for scope in scopes for word in ("--scope", scope)]
        made = self.ctl("key", "create", f"Key {next(numbers)}", "--organization", organization, "--role", role, *narrower)
        return Credential(made["id"], made["secret"], self.tenants[organization], (organization,))

    def user(self, tenant, role="org_admin"):
        email = f"user{next(numbers)}@example.com"
        made = self.ctl("user", "add", f"User {next(numbers)}", "--tenant", tenant, "--email", email, "--role", role)["id"]
        self.people[made] = tenant, email
        return made

    def token(self, user, *organizations):
        named = [word for organization in organizations for word in ("--organization", organization)]
        made = self.ctl("token", "create", f"Token {next(numbers)}", "--user", user, *named)
        return Credential(made["id"], made["secret"], self.people[user][0], organizations, user, self.people[user][1])

    def revoke(self, credential):
        self.ctl("token" if credential.id.startswith("pat_") else "key", "revoke", credential.id)
