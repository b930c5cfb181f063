# SPDX-License-Identifier: Apache-2.0
"""Reads the event log and deliveries from the database."""

import json

from wait import eventually

# joins a delivery d with its event e
WITH_EVENT = ("neoapi.webhook_delivery d join neoapi.event e"
              " on e.organization_id = d.organization_id and e.id = d.event_id and e.created_at = d.event_at")
COLUMNS = ("id", "type", "resource_id", "created_at", "actor", "request_id", "payload", "changed", "previous")


def deliveries(instance, subscription):
    """Event type and payload of the subscription's deliveries, oldest first."""
    rows = instance.sql(f"select d.event_type, e.payload from {WITH_EVENT} where d.subscription_id = %s order by d.id",
                        subscription)
    return [(event, json.loads(payload)) for event, payload in rows]


def events(instance, organization, after=""):
    """The organization's events after an id, as dictionaries, in the order of the log."""
    rows = instance.sql(f"select {', '.join(COLUMNS)} from neoapi.event where organization_id = %s and id > %s order by id",
                        organization, after)
    return [{**dict(zip(COLUMNS, row)), "payload": json.loads(row[6])} for row in rows]


def await_log_end(instance):
    """Waits until every event that was committed before the call can be followed. A page that follows the log ends before the oldest
    transaction in progress, which can be another test's."""
    position = instance.sql("select neoapi.event_position(number, pg_current_xact_id()) from neoapi.event_epoch")[0][0]
    eventually(lambda: instance.sql("select neoapi.event_position() > %s", position)[0][0], "the log is complete")
