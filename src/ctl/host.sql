-- SPDX-License-Identifier: Apache-2.0
-- Takes hosts out of service (see host.c). $1 is the host.

-- name: drain
update neoapi.host set drained_at = coalesce(drained_at, now()) where name = $1 returning true;

-- name: undrain
update neoapi.host set drained_at = null where name = $1 returning true;

-- Requests and attempts in progress; whether all processes have reported them since they know that the host is drained; whether the
-- host still reports.
-- name: drain_progress
select requests, attempts, seen_at > drained_at + interval '3 seconds', now() < seen_at + interval '15 seconds', drained_at is not null
from neoapi.host where name = $1;
