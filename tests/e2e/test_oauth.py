# SPDX-License-Identifier: Apache-2.0
"""OAuth 2.0 for machines: tokens for API keys, what they give access to, and what attackers try with them."""

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path

import pytest
import requests

from admin_factory import AdminFactory, new_secret
from client import Adapter, Api, ok, refused
from conftest import remove
from ctl_instance import Ctl
from deployment import Instance
from wait import TIMEOUT_S, eventually, together

# Another address of the deployment, and one with another base URL; both with the same key file and database.
HOSTS = "".join(f"""
Listen 127.0.0.{number}:${{PORT}} https
<VirtualHost 127.0.0.{number}:${{PORT}}>
    ServerName host{number}.example.com
    SSLEngine On
    SSLCertificateFile "${{INSTANCE}}/tls/server.pem"
    SSLCertificateKeyFile "${{INSTANCE}}/tls/server.key"
    NeoAPIKeyFile "${{INSTANCE}}/neoapi.key"
    NeoAPIBaseURL "{url}"
    <Location "/public/v1/">
        NeoAPI On
    </Location>
    <Location "/.well-known/oauth-authorization-server">
        SetHandler neoapi-oauth-metadata
    </Location>
</VirtualHost>
""" for number, url in ((2, "https://localhost:${PORT}/public/v1/"), (3, "https://other.example.com/public/v1/")))

INVALID, EXPIRED, REVOKED = (f"unauthorized.{name}_credential" for name in ("invalid", "expired", "revoked"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    conf = tmp_path_factory.mktemp("oauth") / "server"
    conf.write_text(HOSTS)
    made = Instance("oauth", PROCESSES="2", SERVER_CONF=str(conf))
    try:
        yield made.up()
    finally:
        remove(made)


@pytest.fixture(scope="module")
def factory(site):
    return AdminFactory(site)


@pytest.fixture
def organization(factory):
    return factory.organization()


@pytest.fixture
def key(factory, organization):
    return factory.key(organization)


@pytest.fixture
def anonymous(site):
    return Api(site)


def request_token(api, key, **more):
    form = {"grant_type": "client_credentials", "client_id": key.id, "client_secret": key.secret, **more}
    return api.post("oauth/token", data={name: value for name, value in form.items() if value is not None})


def get_token(api, key, **more):
    answer = request_token(api, key, **more)
    assert answer.status_code == 200, answer.text
    return answer.json()["access_token"]


def with_token(site, token, **more):
    api = Api(site, **more)
    api.session.headers["Authorization"] = "Bearer " + token
    return api


def failed(answer, status, error):
    body = answer.json()
    assert (answer.status_code, body["error"]) == (status, error), answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers.get("WWW-Authenticate", "").startswith("Basic") == (status == 401)
    return body


def packed(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unpacked(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signing_keys(site):
    """Those of the key file, derived as in src/api/docs.c."""
    lines = (site.state / "neoapi.key").read_text().split()
    return [hmac.new(base64.b64decode(line), b"neoapi access token\x01", hashlib.sha256).digest() for line in lines]


def signed(key, claims, header=None, digest=hashlib.sha256):
    text = packed(json.dumps(header or {"alg": "HS256", "typ": "at+jwt"}, separators=(",", ":")).encode())
    text += "." + packed(json.dumps(claims).encode())
    return text + "." + packed(hmac.new(key, text.encode(), digest).digest())


# ---------------------------------------------------------------- the token endpoint


def test_a_key_gets_a_token_that_works_like_it(site, anonymous, key):
    answer = request_token(anonymous, key)
    body = ok(answer)
    assert set(body) == {"access_token", "token_type", "expires_in", "scope"}
    assert (body["token_type"], body["expires_in"]) == ("Bearer", 900)
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["Pragma"] == "no-cache"
    api, own = with_token(site, body["access_token"]), Api(site, key)
    assert ok(api.get("me")) == ok(own.get("me")) and body["scope"].split() == ok(own.get("me"))["scopes"]
    broker = ok(api.post("brokers", json={"name": "Ana"}), 201)
    assert broker["created_by"] == key.id and ok(own.get("brokers/" + broker["id"])) == broker
    assert key.secret[31:] not in body["access_token"] and key.secret[31:60] not in str(unpacked(body["access_token"].split(".")[1]))


def test_the_client_can_authenticate_with_http_basic(anonymous, key):
    def basic(text):
        return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}

    form = {"grant_type": "client_credentials"}
    ok(anonymous.post("oauth/token", data=form, headers=basic(f"{key.id}:{key.secret}")))
    ok(anonymous.post("oauth/token", data=form, headers=basic(f"{key.id.replace('_', '%5F')}:{key.secret}")))
    ok(anonymous.post("oauth/token", data={**form, "client_id": key.id}, headers=basic(f"{key.id}:{key.secret}")))
    failed(anonymous.post("oauth/token", data={**form, "client_secret": key.secret}, headers=basic(f"{key.id}:{key.secret}")),
           400, "invalid_request")
    for text in (f"{key.id}:", key.id, f"{key.id}:x", "", "\0:\0"):
        failed(anonymous.post("oauth/token", data=form, headers=basic(text)), 401, "invalid_client")
    failed(anonymous.post("oauth/token", data=form, headers={"Authorization": "Basic *"}), 401, "invalid_client")


def test_errors_have_the_form_of_oauth(anonymous, factory, key):
    other = factory.key()
    assert failed(request_token(anonymous, key, grant_type=None), 400, "invalid_request")["error_description"]
    failed(request_token(anonymous, key, grant_type="password"), 400, "unsupported_grant_type")
    failed(request_token(anonymous, key, client_secret=None), 401, "invalid_client")
    failed(request_token(anonymous, key, client_id=None), 401, "invalid_client")
    failed(request_token(anonymous, key, client_id=other.id), 401, "invalid_client")
    failed(request_token(anonymous, key, client_secret=other.secret), 401, "invalid_client")
    unknown = new_secret("nbr_")
    error = failed(request_token(anonymous, key, client_id=unknown[0], client_secret=unknown[1]), 401, "invalid_client")
    assert "client_secret" in error["error_description"]
    failed(request_token(anonymous, key, scope="brokers:read nothing:read"), 400, "invalid_scope")
    failed(anonymous.post("oauth/token", json={"grant_type": "client_credentials"}), 400, "invalid_request")
    failed(anonymous.post("oauth/token", data="grant_type=client_credentials&grant_type=client_credentials",
                          headers={"Content-Type": "application/x-www-form-urlencoded"}), 400, "invalid_request")
    for body in (b"grant_type=%ff", b"grant_type=client_credentials\0&x=1", b""):
        failed(anonymous.post("oauth/token", data=body, headers={"Content-Type": "application/x-www-form-urlencoded"}),
               400, "invalid_request")
    refused(anonymous.post("oauth/token", data=b"x" * 9000, headers={"Content-Type": "application/x-www-form-urlencoded"}), 413,
            "validation.body_too_large")
    refused(anonymous.get("oauth/token"), 405, "validation.method_not_allowed")


def test_only_api_keys_get_tokens(anonymous, factory, organization):
    token = factory.token(factory.user(factory.tenants[organization]), organization)
    failed(request_token(anonymous, token), 400, "unauthorized_client")


def test_a_refused_key_gets_no_token_and_learns_why(anonymous, factory, organization):
    revoked, elsewhere = factory.key(organization), factory.key(organization, allowed_networks="{203.0.113.0/24}")
    expired = factory.key(organization, expires_at="2026-01-01T00:00:00Z")
    factory.revoke(revoked)
    for key, code in ((revoked, REVOKED), (expired, EXPIRED), (elsewhere, "forbidden.network")):
        assert failed(request_token(anonymous, key), 401, "invalid_client")["error_uri"].endswith("/errors#" + code)


def test_guesses_are_limited_like_wrong_keys(site):
    api = Api(site, source="127.0.0.77")
    statuses = []
    for _ in range(70):
        id, secret, _ = new_secret("nbr_")
        statuses.append(api.post("oauth/token", data={"grant_type": "client_credentials", "client_id": id,
                                                      "client_secret": secret}).status_code)
    assert statuses[0] == 401 and statuses[-1] == 429


def test_requests_for_tokens_count_against_the_keys_limit(site, factory):
    tenant = factory.tenant(factory.plan(3, 3600))
    key = factory.key(factory.organization(tenant))
    statuses = [request_token(Api(site), key).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]


def test_a_token_does_not_outlive_its_key(site, anonymous, factory, organization):
    key = factory.key(organization)
    site.sql("update neoapi.credential set expires_at = now() + interval '100 seconds' where id = %s", key.id)
    eventually(lambda: ok(request_token(anonymous, key))["expires_in"] <= 100, "the processes have heard of it")


# ---------------------------------------------------------------- what a token gives access to


def test_a_token_can_have_fewer_scopes_than_its_key(site, anonymous, factory, organization):
    key = factory.key(organization, scopes=["brokers:read", "brokers:write", "parties:read"])
    answer = request_token(anonymous, key, scope="brokers:read parties:read")
    assert ok(answer)["scope"] == "brokers:read parties:read"
    api = with_token(site, answer.json()["access_token"])
    assert ok(api.get("me"))["scopes"] == ["brokers:read", "parties:read"]
    ok(api.get("brokers"))
    refused(api.post("brokers", json={"name": "Ana"}), 403, "forbidden.insufficient_permissions")
    failed(request_token(anonymous, key, scope="properties:read"), 400, "invalid_scope")
    factory.ctl("key", "change", key.id, "--role", "org_admin", "--scope", "brokers:read")
    refused(api.get("parties"), 403, "forbidden.insufficient_permissions")  # what the key loses, its tokens lose


def test_events_and_exports_follow_the_scopes_of_the_token(site, anonymous, key):
    own = Api(site, key)
    ok(own.post("brokers", json={"name": "Ana"}), 201)
    api = with_token(site, get_token(anonymous, key, scope="parties:read"))
    assert ok(api.get("events"))["items"] == [] != ok(own.get("events"))["items"]
    refused(api.get("brokers/export"), 403, "forbidden.insufficient_permissions")


def test_a_token_is_of_its_organization_only(site, anonymous, factory, key):
    other = factory.key()
    broker = Api(site, other).broker()
    api = with_token(site, get_token(anonymous, key))
    refused(api.get("brokers/" + broker["id"]), 404, "not_found.broker")
    refused(api.get("brokers", headers={"X-Organization-ID": other.organizations[0]}), 403, "forbidden.organization")


def test_x_api_key_comes_first(site, anonymous, factory, key):
    other = factory.key()
    api = with_token(site, get_token(anonymous, key), credential=other)
    assert ok(api.get("me"))["principal_id"] == other.id
    refused(api.get("me", headers={"X-API-Key": "nonsense"}), 401, INVALID)


# ---------------------------------------------------------------- ends


def codes(site, token, urls):
    """The codes of requests over fresh connections to each URL, so that all processes get some."""
    def one(url):
        answer = requests.Session()
        answer.trust_env = False
        answer.mount("https://", Adapter(None, Path(site.ca).read_text()))
        return answer.get(url + "me", headers={"Authorization": "Bearer " + token}, timeout=TIMEOUT_S).json().get("code", 200)
    return set(together(*[lambda url=url: one(url) for url in urls for _ in range(8)]))


def test_a_revocation_ends_tokens_at_once_on_all_hosts(site, anonymous, factory, organization):
    urls = [site.url, f"https://127.0.0.2:{site.port}/public/v1/"]
    for _ in range(3):
        key = factory.key(organization)
        token = get_token(anonymous, key)
        assert codes(site, token, urls) == {200}
        factory.revoke(key)
        assert codes(site, token, urls) == {REVOKED}


def test_a_revocation_ends_a_wait_with_a_token(site, anonymous, factory, organization):
    key = factory.key(organization)
    api = with_token(site, get_token(anonymous, key))
    position = api.get("events", params={"order": "asc", "after": "now"}).headers["X-Events-Position"]
    revoked, waited = together(
        lambda: time.sleep(0.3) or factory.revoke(key),
        lambda: api.get("events", params={"order": "asc", "after": position, "wait": 20}))
    assert revoked is None
    refused(waited, 401, REVOKED)


def test_a_replaced_secret_ends_its_tokens(site, anonymous, factory, organization):
    key, ctl = factory.key(organization), Ctl(site)
    old = with_token(site, get_token(anonymous, key))
    first = ctl.json("key", "rotate", key.id, "--grace", "3600")["secret"]
    ok(old.get("me"))  # the old secret is valid for an hour
    ok(anonymous.post("oauth/token", data={"grant_type": "client_credentials", "client_id": key.id, "client_secret": first}))
    ctl.ok("key", "rotate", key.id, "--grace", "0")
    refused(old.get("me"), 401, REVOKED)


def test_a_token_is_refused_from_another_network(site, anonymous, factory, organization):
    key = factory.key(organization)
    api = with_token(site, get_token(anonymous, key))
    factory.ctl("key", "change", key.id, "--allowed-networks", "203.0.113.0/24")
    refused(api.get("me"), 403, "forbidden.network")


# ---------------------------------------------------------------- attacks


@pytest.fixture
def claims(anonymous, key):
    return json.loads(unpacked(get_token(anonymous, key).split(".")[1]))


def test_the_signature_is_that_of_the_derived_key(site, claims):
    """Otherwise the attacks below prove nothing."""
    ok(with_token(site, signed(signing_keys(site)[0], claims)).get("me"))


def test_an_expired_token_is_refused_with_its_own_code(site, claims):
    past = {**claims, "iat": int(time.time()) - 1000, "exp": int(time.time()) - 1}
    assert "access token expired" in refused(with_token(site, signed(signing_keys(site)[0], past)).get("me"), 401, EXPIRED)["detail"]


@pytest.mark.parametrize("header", [
    {"alg": "none", "typ": "at+jwt"}, {"alg": "HS512", "typ": "at+jwt"}, {"alg": "RS256", "typ": "at+jwt"},
    {"alg": "HS256", "typ": "JWT"}, {"alg": "HS256", "typ": "at+jwt", "kid": "../../dev/null"},
    {"alg": "HS256", "typ": "at+jwt", "jwk": {"kty": "oct", "k": "AAAA"}}, {"typ": "at+jwt", "alg": "HS256"},
], ids=lambda header: header["alg"] + "".join(set(header) - {"alg", "typ"}) + header["typ"])
def test_no_header_chooses_the_algorithm_or_the_key(site, claims, header):
    for key in (signing_keys(site)[0], b"", b"\0" * 32):
        for digest in (hashlib.sha256, hashlib.sha512):
            token = signed(key, claims, header, digest)
            refused(with_token(site, token).get("me"), 401, INVALID)
    refused(with_token(site, token.rpartition(".")[0] + ".").get("me"), 401, INVALID)


@pytest.mark.parametrize("changes", [
    {"aud": "https://other.example.com/public/v1/"}, {"aud": None}, {"aud": ["x"]}, {"sub": "nbr_" + 26 * "0"}, {"sub": "x"},
    {"sub": None}, {"scope": "all"}, {"scope": ""}, {"scope": None}, {"secret_id": None}, {"exp": None}, {"exp": "tomorrow"},
], ids=str)
def test_wrong_claims_are_refused(site, claims, changes):
    for token in (signed(signing_keys(site)[0], {**claims, **changes}),
                  signed(signing_keys(site)[0], {name: value for name, value in claims.items() if name not in changes})):
        answer = with_token(site, token).get("me")
        assert answer.status_code == 401 and answer.json()["code"] in (INVALID, EXPIRED, REVOKED), changes


def test_the_claims_of_another_tenants_key_need_its_secret(site, anonymous, factory, key, claims):
    """What is signed for a key names its secret, too."""
    other = factory.key()
    refused(with_token(site, signed(signing_keys(site)[0], {**claims, "sub": other.id})).get("me"), 401, REVOKED)


def test_a_changed_or_cut_token_is_refused(site, anonymous, key):
    token = get_token(anonymous, key)
    head, body, signature = token.split(".")
    wider = packed(unpacked(body).replace(b"brokers:read", b"brokers:wide"))
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    same_bytes = signature[:-1] + last[last.index(signature[-1]) ^ 1]  # differs in unused bits only
    for bad in (f"{head}.{wider}.{signature}", f"{head}.{body}.", f"{head}.{body}", head, ".", "..", "", token + "A", token[:-1],
                f"{head}..{signature}", f"{head}.{body}.{same_bytes}", f"{head}.{body}.{signature}=", token + "." + signature,
                token[::-1], key.secret, "a" * 7000):
        answer = with_token(site, bad).get("me")
        assert answer.status_code == 401, bad
    for scheme in ("bearer ", "BEARER  "):
        ok(anonymous.get("me", headers={"Authorization": scheme + token}))
    for header in ("Basic " + token, token, "Bearer" + token):
        refused(anonymous.get("me", headers={"Authorization": header}), 401, "unauthorized.auth_required")


def test_a_token_is_for_one_base_url(site, key):
    there = f"https://127.0.0.3:{site.port}/public/v1/"
    other = Api(site, url=there)
    assert codes(site, get_token(Api(site), key), [there]) == {INVALID}
    assert codes(site, get_token(other, key), [site.url]) == {INVALID}
    assert codes(site, get_token(other, key), [there]) == {200}


def test_challenges_name_both_ways(site, anonymous):
    assert anonymous.get("me").headers["WWW-Authenticate"] == 'ApiKey header="X-API-Key", Bearer realm="API"'
    assert 'error="invalid_token"' in with_token(site, "x").get("me").headers["WWW-Authenticate"]


# ---------------------------------------------------------------- metadata


def well_known(site, path, method="GET"):
    session = requests.Session()
    session.trust_env = False
    session.mount("https://", Adapter(None, Path(site.ca).read_text()))
    return session.request(method, f"https://localhost:{site.port}/.well-known/oauth-authorization-server{path}", timeout=TIMEOUT_S)


def test_the_metadata_leads_to_the_token_endpoint(site, anonymous, key):
    answer = well_known(site, "/public/v1")
    metadata = answer.json()
    assert answer.headers["Content-Type"] == "application/json"
    assert metadata["issuer"] + "/" == site.url and metadata["token_endpoint"] == site.url + "oauth/token"
    assert metadata["grant_types_supported"] == ["client_credentials"] and metadata["response_types_supported"] == []
    assert set(metadata["token_endpoint_auth_methods_supported"]) == {"client_secret_basic", "client_secret_post"}
    supported = metadata["scopes_supported"]
    assert [one for one in supported if not one.endswith("_masked")] == ok(Api(site, key).get("me"))["scopes"]
    assert "brokers:read_masked" in supported
    for path in ("", "/", "/public/v2", "/public/v1/", "/public/v1/x"):
        assert well_known(site, path).status_code == 404, path
    assert well_known(site, "/public/v1", "POST").status_code == 405


# ---------------------------------------------------------------- the key file


def test_tokens_of_a_former_key_stay_valid_and_the_new_key_signs(site, anonymous, key):
    old = get_token(anonymous, key)
    file = site.state / "neoapi.key"
    former = file.read_text()
    file.write_text(base64.b64encode(hashlib.sha256(b"new").digest()).decode() + "\n" + former)
    site.command("graceful")
    try:
        ok(with_token(site, old).get("me"))
        new = get_token(Api(site), key)
        assert new == signed_again(site, new) and ok(with_token(site, new).get("me"))["principal_id"] == key.id
    finally:
        file.write_text(former)
        site.command("graceful")
    refused(with_token(site, new).get("me"), 401, INVALID)  # the key was removed


def signed_again(site, token):
    text = token.rpartition(".")[0]
    return text + "." + packed(hmac.new(signing_keys(site)[0], text.encode(), hashlib.sha256).digest())
