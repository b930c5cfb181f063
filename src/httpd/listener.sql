-- SPDX-License-Identifier: Apache-2.0
-- Steps of the hosts' system clocks (see listener.c).

-- Records a step: {host}, and by how many milliseconds its clock is {ahead}; one a minute, because each process of a host sees it.
-- write: record_clock_step
with old as (delete from neoapi.clock_step where at < now() - interval '30 days')
insert into neoapi.clock_step (host, at, ahead_ms) values ({host}, date_trunc('minute', now()), {ahead}::bigint) on conflict do nothing;
