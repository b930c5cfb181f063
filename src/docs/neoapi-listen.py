#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Follows the event log of the Public Integration API: prints events, or forwards them to a local receiver of webhooks."""
import argparse
import base64
import datetime
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import re
import secrets
import socket
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

SERVED_URL = "{{base_url}}"  # the service fills it in where it serves this file
KEY, URL, SECRET = "NEOAPI_KEY", "NEOAPI_URL", "NEOAPI_SECRET"
PAGE, WAIT_S, TIMEOUT_S, MAX_DELAY_S, RECEIVER_TIMEOUT_S = 100, 20, 60, 30, 15
LOCAL = ("localhost", "127.0.0.1", "::1")
COLORS = {"created": 32, "updated": 33, "deleted": 31, "dim": 2, "bold": 1, "good": 32, "bad": 31}
CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
HELP = f"""
The key is read from the environment ({KEY}) or from a file, never from the command line, which other users can see. It can be
an API key or a personal access token and needs the scopes to read the resources. Events of other resources are not shown.

The position in the log and the secret are stored, so that the next run first gets what happened since the last one. The
first run starts with new events. {URL} is the base URL, {SECRET} a secret of your own for --forward-to.

Colours are used on a terminal, unless NO_COLOR is set. SSL_CERT_FILE is a certificate authority to trust."""


class Failure(Exception):
    """Ends the program with this message."""


def color(name, text, stream=sys.stdout):
    number = COLORS.get(name) if stream.isatty() and not os.environ.get("NO_COLOR") else None
    return f"\x1b[{number}m{text}\x1b[0m" if number else text


def notice(text):
    print(color("dim", text, sys.stderr), file=sys.stderr, flush=True)


def printable(text):
    """Values come from others: control characters could change the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


# ---------------------------------------------------------------- the API


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key must not be sent to another address."""

    def redirect_request(self, *_):
        return None


def describe_error(error):
    reason = getattr(error, "reason", None) or error
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


def read_problem(error):
    """The detail and code of a problem, or None if the response is none of the API."""
    try:
        problem = json.loads(error.read(65536))
        return f"{problem['detail']} ({problem['code']})", problem["code"]
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return None, None


class Api:
    def __init__(self, url, key, organization):
        self.url = url if url.endswith("/") else url + "/"
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise Failure(f"{url} is not a URL. The base URL looks like https://api.example.com/public/v1/.")
        if parts.scheme == "http" and parts.hostname not in LOCAL:
            raise Failure("The base URL must be https, because the key would be sent unencrypted.")
        self.headers = {"X-API-Key": key, "Accept": "application/json", "User-Agent": "neoapi-listen"}
        if organization:
            self.headers["X-Organization-ID"] = organization
        self.opener = urllib.request.build_opener(NoRedirect)
        self.is_unreachable = False

    def get(self, path, **params):
        """Returns the parsed body and the headers. Repeats the request while the service cannot answer it."""
        delay = 1
        while True:
            query = "?" + urllib.parse.urlencode(params, safe=",*") if params else ""
            request = urllib.request.Request(self.url + path + query, headers=self.headers)
            try:
                with self.opener.open(request, timeout=TIMEOUT_S) as answer:
                    body = json.load(answer)
                if self.is_unreachable:
                    notice("Connected again.")
                self.is_unreachable = False
                return body, answer.headers
            except urllib.error.HTTPError as error:
                delay = self.delay_after(error, delay)
            except ValueError as error:
                raise Failure(f"{self.url} does not answer like the API. Is it the base URL, which ends in /public/v1/?") from error
            except (OSError, http.client.HTTPException) as error:
                if isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError):
                    raise Failure(f"The certificate of {self.url} cannot be verified: {error.reason.verify_message}. "
                                  "SSL_CERT_FILE can name a certificate authority.") from error
                self.note_unreachable(describe_error(error))
                delay = min(2 * delay, MAX_DELAY_S)
            time.sleep(delay)

    def note_unreachable(self, why):
        if not self.is_unreachable:
            notice(f"{self.url} cannot be reached: {printable(why)}. Trying again until it can; nothing is lost meanwhile.")
        self.is_unreachable = True

    def delay_after(self, error, delay):
        """The seconds until the request can be repeated. Raises Failure if that is of no use."""
        detail, code = read_problem(error)
        if error.code == 429 or error.code >= 500:
            self.note_unreachable(detail or f"status {error.code}")
            after = error.headers.get("Retry-After", "")
            return min(int(after), 3600) if after.isdecimal() and after != "0" else min(2 * delay, MAX_DELAY_S)
        if code == "validation.position_expired":
            raise Failure("The log no longer has the events after the last position: they are stored for a limited time (by default "
                          "30 days), or the service's database was restored. What happened since then is lost to this program. "
                          "Continue with --since now, or with --since oldest for everything that is stored.")
        hints = {401: f" Check the key in {KEY} or in the key file.",
                 403: " Use a key with the scopes to read these resources."}
        if detail is None:
            raise Failure(f"{self.url} answered with status {error.code}, which is not an answer of the API. "
                          "Is it the base URL, which ends in /public/v1/?")
        raise Failure(printable(detail) + hints.get(error.code, ""))


# ---------------------------------------------------------------- what is stored


class State:
    """A JSON file with the position and the secret, which only its owner can read."""

    def __init__(self, path):
        self.path, self.values = path, {}
        try:
            self.values = dict(json.loads(path.read_text()))
        except FileNotFoundError:
            pass  # the first run
        except (OSError, ValueError, TypeError) as error:
            raise Failure(f"The state file {path} cannot be read: {describe_error(error)}. Remove it to start anew.") from error

    def get(self, name):
        return self.values.get(name)

    def set(self, name, value):
        if self.values.get(name) == value:
            return
        self.values[name] = value
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # The mode of the new file is 0600. The rename keeps the old one complete until the new one is.
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, prefix=".neoapi-", delete=False) as new:
                json.dump(self.values, new)
            os.replace(new.name, self.path)
        except OSError as error:
            raise Failure(f"The state file {self.path} cannot be written: {describe_error(error)}.") from error


def default_state(principal, url):
    home = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local/state"
    place = hashlib.sha256(url.encode()).hexdigest()[:8]
    return pathlib.Path(home) / "neoapi-listen" / f"{principal}-{place}.json"


def parse_time(text):
    """A moment before now, such as 2h, or an RFC 3339 time, in the form of the API."""
    match = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if match:
        seconds = int(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]
        moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return text + "T00:00:00Z"
    if re.fullmatch(r"\d{4}-\d\d-\d\dT.*", text):
        return text
    raise Failure(f"--since {text} is not understood. Examples: now, oldest, 2h, 7d, 2026-01-31, 2026-01-31T12:00:00Z, evt_….")


def start_at(since, state):
    """The first position, and the parameters of the events' time."""
    if since is None:
        return state.get("position") or "now", {}
    if since in ("now", "oldest") or since.startswith("evt_"):
        return {"now": "now", "oldest": ""}.get(since, since), {}
    return "", {"created_gte": parse_time(since)}


# ---------------------------------------------------------------- printing


def short(value):
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"


def describe_changes(event):
    """What an update has changed: the old and the new value, or only the name of a confidential field."""
    previous, payload = event.get("previous") or {}, event.get("payload") or {}
    return ", ".join(f"{name} {short(previous.get(name))} → {short(payload.get(name))}" if name in previous or name in payload
                     else name for name in event.get("changed") or [] if name != "updated_at")


def format_event(event):
    happened = event["type"].rpartition(".")[2]
    at = datetime.datetime.fromisoformat(event["created_at"].replace("Z", "+00:00")).astimezone()
    parts = [color("dim", at.strftime("%Y-%m-%d %H:%M:%S")), color(happened, event["type"].ljust(20)),
             color("bold", event.get("resource_id") or "-"), printable(describe_changes(event)) or
             printable(short((event.get("payload") or {}).get("name") or (event.get("payload") or {}).get("title") or ""))]
    return "  ".join(part for part in parts if part)


def print_event(event, is_whole):
    if not is_whole:
        print(format_event(event), flush=True)
    elif sys.stdout.isatty():
        print(format_event(event), json.dumps(event, ensure_ascii=False, indent=2), sep="\n", flush=True)
    else:  # JSON Lines, for other programs
        print(json.dumps(event, ensure_ascii=False), flush=True)


# ---------------------------------------------------------------- forwarding


def new_delivery_id():
    number = (int(time.time() * 1000) << 80) | secrets.randbits(80)
    return "whd_" + "".join(CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def signed_headers(event_id, body, secret):
    """The headers of a delivery: see "Signatures" in the documentation of webhooks."""
    now = str(int(time.time()))
    standard = hmac.new(base64.b64decode(secret[len("whsec_"):]), f"{event_id}.{now}.".encode() + body, hashlib.sha256)
    return {"Content-Type": "application/json",
            "X-Webhook-Signature": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
            "webhook-id": event_id, "webhook-timestamp": now,
            "webhook-signature": "v1," + base64.b64encode(standard.digest()).decode()}


class Receiver:
    """A program of the developer. No proxy is used, and no redirect followed, like the service."""

    def __init__(self, url, secret):
        self.url, self.secret = url, secret
        self.opener = urllib.request.build_opener(NoRedirect, urllib.request.ProxyHandler({}))
        if urllib.parse.urlsplit(url).scheme not in ("http", "https") or not urllib.parse.urlsplit(url).hostname:
            raise Failure(f"--forward-to {url} is not a URL. Example: http://localhost:3000/hook.")

    def send(self, event):
        """Sends until the receiver answers, and prints the answer."""
        delivery = {"id": new_delivery_id(), "event_type": event["type"], "created_at": event["created_at"],
                    "payload": event["payload"]}
        body, was_away = json.dumps(delivery, ensure_ascii=False, separators=(",", ":")).encode(), False
        while True:
            began = time.monotonic()
            request = urllib.request.Request(self.url, body, signed_headers(event["id"], body, self.secret), method="POST")
            try:
                with self.opener.open(request, timeout=RECEIVER_TIMEOUT_S) as answer:
                    answer.read(65536)
                    return self.report(answer.status, began)
            except urllib.error.HTTPError as error:
                return self.report(error.code, began)
            except (socket.timeout, TimeoutError):
                return self.report("no answer within 15 s", began)
            except (OSError, http.client.HTTPException) as error:
                if not was_away:
                    notice(f"{self.url} cannot be reached: {describe_error(error)}. Trying again until it can; events wait meanwhile.")
                was_away = True
                time.sleep(1)

    def report(self, status, began):
        is_good = isinstance(status, int) and 200 <= status < 300
        took = f"{(time.monotonic() - began) * 1000:.0f} ms"
        print("    " + color("good" if is_good else "bad", f"→ {status}"), color("dim", took), flush=True)


# ---------------------------------------------------------------- the program


def follow(api, arguments, state, receiver):
    position, params = start_at(arguments.since, state)
    if arguments.types:
        params["type"] = arguments.types.replace(" ", "")
    if position == "now":  # what happens after the notice is followed
        position = api.get("events", order="asc", after=position, limit=1, **params)[1]["X-Events-Position"]
        state.set("position", position)
    notice("Following the events. End with Ctrl-C.")
    while True:
        page, headers = api.get("events", order="asc", after=position, limit=PAGE, wait=WAIT_S, **params)
        for event in page["items"]:
            print_event(event, arguments.print)
            if receiver:
                receiver.send(event)
            state.set("position", event["id"])
        position = headers["X-Events-Position"]
        state.set("position", position)
        if headers.get("Retry-After", "").isdecimal():  # the request could not wait
            time.sleep(int(headers["Retry-After"]))


def read_key(file):
    if file:
        try:
            key = pathlib.Path(file).read_text().strip()
        except (OSError, ValueError) as error:
            raise Failure(f"The key file {file} cannot be read: {describe_error(error)}.") from error
    else:
        key = os.environ.get(KEY, "").strip()
    if not key:
        raise Failure(f"There is no key. Set {KEY}, or name a file with --key-file.")
    if not key.isascii() or not key.isprintable():
        raise Failure("The key contains characters that no key has.")
    return key


def read_secret(state):
    secret = os.environ.get(SECRET) or state.get("secret") or "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    try:
        if not secret.startswith("whsec_") or len(base64.b64decode(secret[6:], validate=True)) < 16:
            raise ValueError
    except ValueError as error:
        raise Failure(f"The secret in {SECRET} must be whsec_ and at least 16 bytes in base64.") from error
    state.set("secret", secret)
    return secret


def parse():
    parser = argparse.ArgumentParser(prog="neoapi-listen", description=__doc__, epilog=HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", metavar="URL", help=f"the base URL, which ends in /public/v1/ (default: {URL})")
    parser.add_argument("--key-file", metavar="FILE", help=f"a file with the key (default: {KEY})")
    parser.add_argument("--organization", metavar="ID", help="the organization, for a token that has several")
    parser.add_argument("--types", metavar="TYPES", help="only these events, such as broker.created,property.*")
    parser.add_argument("--since", metavar="WHEN", help="now, oldest, 2h, 7d, a time or an event id, instead of the end of the last run")
    parser.add_argument("--print", action="store_true", help="print each event whole, as JSON; not to a terminal: one in each line")
    parser.add_argument("--forward-to", metavar="URL", help="send each event to this URL, signed like a delivery of a webhook")
    parser.add_argument("--state", metavar="FILE", type=pathlib.Path, help="where the position is stored")
    return parser.parse_args()


def run():
    arguments = parse()
    url = arguments.url or os.environ.get(URL) or (SERVED_URL if SERVED_URL.startswith("http") else "")
    if not url:
        raise Failure(f"There is no base URL. Set {URL} or use --url, for example https://api.example.com/public/v1/.")
    api = Api(url, read_key(arguments.key_file), arguments.organization)
    principal, _ = api.get("me")
    state = State(arguments.state or default_state(principal["principal_id"], api.url))
    receiver = None
    if arguments.forward_to:
        receiver = Receiver(arguments.forward_to, read_secret(state))
        notice(f"Forwarding to {arguments.forward_to}. Its secret: {receiver.secret}")
    follow(api, arguments, state, receiver)


if __name__ == "__main__":
    try:
        run()
    except Failure as failure:
        print(color("bad", f"neoapi-listen: {failure}", sys.stderr), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of the output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
