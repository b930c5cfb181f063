-- SPDX-License-Identifier: Apache-2.0
-- The hosts' parts of limits (see lease.c).

-- write: exchange_leases
select name, max_count, window_seconds, lease, other_used, other_demand
from neoapi.exchange_leases({host}, {hosts}::int, {names}::text[], {limits}::int[], {windows}::int[], {leases}::int[],
    {targets}::int[], {used}::int[], {demands}::int[]);
