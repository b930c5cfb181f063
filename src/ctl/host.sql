-- SPDX-License-Identifier: Apache-2.0
-- Takes hosts out of service (see host.c). $1 is the host.

-- name: drain
update neoapi.host set drained_at = coalesce(drained_at, now()) where name = $1 returning true;

-- name: undrain
update neoapi.host set drained_at = null where name = $1 returning true;

-- Requests and attempts in progress; whether they are from $2 seconds after the host was drained; whether the host was seen within a
-- minute, because one that has lost its connection to the database can still serve requests; whether it is drained.
-- name: drain_progress
select requests, attempts, seen_at >= drained_at + make_interval(secs => $2::int), now() < seen_at + interval '1 minute',
    drained_at is not null
from neoapi.host where name = $1;
