# SPDX-License-Identifier: Apache-2.0
"""Database connections that end between two requests."""

from client import Api
from admin_factory import AdminFactory
from wait import eventually, together

OURS = "select pid from pg_stat_activity where application_name = 'neoapi'"


def test_connections_that_the_database_closed_fail_no_request(new_instance):
    """A statement that was not sent is retried over a new connection, even if it writes."""
    instance = new_instance()
    api = Api(instance, AdminFactory(instance).key())
    for _ in range(10):
        assert together(*[lambda: api.with_().broker()["name"] for _ in range(12)])
        closed = set(instance.sql(OURS))
        instance.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'neoapi'")
        eventually(lambda: not closed & set(instance.sql(OURS)), "the connections are closed")
        answers = together(*[lambda: api.with_().post("brokers", json={"name": "Ana"}) for _ in range(12)])
        assert {answer.status_code for answer in answers} == {201}
