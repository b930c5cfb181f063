-- SPDX-License-Identifier: Apache-2.0
-- The hosts' parts of limits (see lease_exchange.c).

-- The values are those of neoapi.exchange_leases. Not prepared, because it has a time limit of its own.
-- name: exchange_leases
select place, name, max_count, window_seconds, lease, other_used, other_demand, other_wanted
from neoapi.exchange_leases(%s, %s, %s, %d, %s, %s, %s, %s, %s, %s, %s, %s, %s);
