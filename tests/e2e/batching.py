# SPDX-License-Identifier: Apache-2.0
"""Helpers for batches: send batches, read results and queued events. Each module that uses the fixture imports it."""

import pytest
from client import check_items, ok
from event_log import deliveries

COLLECTIONS = ["brokers", "properties", "parties"]
KINDS = {"brokers": "broker", "properties": "property", "parties": "party"}
UNIQUE_FIELDS = {"brokers": "creci", "properties": "code", "parties": "document_number"}  # a unique field of each, with arbitrary values
UNREACHABLE_URL = "https://127.0.0.1:9/"  # deliveries to this machine are not allowed


def create(**data):
    return {"method": "create", "data": data}


def update(id, **data):
    return {"method": "update", "id": id if isinstance(id, str) else id["id"], "data": data}


def delete(id):
    return {"method": "delete", "id": id if isinstance(id, str) else id["id"]}


def send(api, *operations, collection="brokers", key=None, **more):
    headers = {"Idempotency-Key": key} if key else None
    return api.post(collection + "/batch", json={**more, "operations": list(operations)}, headers=headers)


def results(response, *statuses):
    """The results of a batch whose operations had these statuses."""
    answer = ok(response)
    assert list(answer) == ["succeeded", "failed", "results"]
    assert [result["index"] for result in answer["results"]] == list(range(len(answer["results"])))
    assert [result["status"] for result in answer["results"]] == list(statuses), answer
    assert answer["succeeded"] == sum(status < 300 for status in statuses)
    assert answer["failed"] == sum(status >= 300 for status in statuses)
    for result in answer["results"]:
        check_result(response, result)
    return answer["results"]


def check_result(response, result):
    status, error = result["status"], result.get("error")
    assert ("resource" in result) == (status in (200, 201)), result
    assert ("error" in result) == (status >= 400), result
    if error:
        assert error["status"] == status and error["request_id"] == response.headers["X-Request-ID"], error
        check_items(status, error)


def fields(result):
    """The code of each wrong field of a failed operation."""
    return {item["field"]: item["code"] for item in result["error"].get("errors", [])}


def count(api, collection="brokers"):
    return len(api.walk(collection, limit=100))


@pytest.fixture
def queued_events(own_api, instance):
    """queued_events(): event and payload of every delivery of the organization, oldest first."""
    subscription = ok(own_api.post("webhooks", json={"url": UNREACHABLE_URL, "events": ["*", "lead.*"]}), 201)["id"]
    yield lambda: deliveries(instance, subscription)
    ok(own_api.with_().delete("webhooks/" + subscription), 204)
