# SPDX-License-Identifier: Apache-2.0
"""Exports that a client reads slowly or partly, and organizations with many rows."""

import socket

from raw_http import CONNECTION_LOST, Broken, RawConnection, message

READING = ("select pid from pg_stat_activity where application_name = 'neoapi' and state = 'idle in transaction'"
           " and query like 'fetch % from snapshot'")


def fill(instance, organization, rows):
    """Inserts brokers with SQL: without events, because that is faster."""
    instance.sql("insert into neoapi.broker (organization_id, id, tenant_id, name, visibility, created_at, updated_at, created_by,"
                 " updated_by) select o.id, 'brk_01h' || lpad(n::text, 23, '0'), o.tenant_id, 'Corretor ' || n,"
                 " (array['private', 'public'])[1 + (n %% 10 = 0)::int], now(), now(), 'x', 'x'"
                 " from neoapi.organization o, generate_series(1, %s) n where o.id = %s", rows, organization)


class SlowExport(RawConnection):
    """An export whose body is not read yet. The client's buffer is small, so that the server must wait."""

    def __init__(self, api, path="brokers/export", version="HTTP/1.1"):
        super().__init__(api)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        self.send(message(api, "GET", path, version=version))
        self.status, self.headers = self._head()

    def rest(self):
        """Reads the body. Raises Broken if it is incomplete."""
        try:
            return self._body("GET", self.status, self.headers)
        except CONNECTION_LOST as gone:
            raise Broken(str(gone)) from gone
