-- SPDX-License-Identifier: Apache-2.0
-- Positions of the write-ahead log (see replica.c).

-- On the primary: the position up to which all that is visible has been written, and the identity of its event log; no row if the
-- epoch of the log is of another timeline. A commit is visible after it is flushed, unless commits are asynchronous.
-- neoapi.event_identity, which reads a file, would take longer than a read by id.
-- read: position
select case current_setting('synchronous_commit') when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end,
    identity, pg_current_snapshot()
from neoapi.event_epoch
where split_part(identity, '/', 2) = left(pg_walfile_name(pg_current_wal_flush_lsn()), 8);

-- On a replica: a row once it has replayed the write-ahead log of {identity} to {lsn}; none if that takes more than {limit} ms. The
-- epoch of the event log proves the timeline: the primary writes it after its promotion, so a server that follows another timeline does
-- not have it, even if its own log is longer.
-- read: await_replay
select true
from generate_series(0, {limit}::int) as waited, lateral (select case when waited > 0 then pg_sleep(0.001) end) as pause
where waited >= 0 and pg_is_in_recovery() and pg_last_wal_replay_lsn() >= {lsn}::pg_lsn
and exists (select from neoapi.event_epoch where identity = {identity})
limit 1;

-- On a replica, after a read: the transactions that it may have shown although they were not visible in the primary's {snapshot}. Null: too
-- many to say. A standby's own snapshot does not list those in progress. pg_xact_status fails for transactions that the replica does not know.
-- read: find_newer
select case when stop - start <= 1000 then array(
    select x::text
    from (select pg_snapshot_xip({snapshot}::pg_snapshot)::text::bigint as x union all select generate_series(start, stop - 1)) as invisible
    where case when x < stop then pg_xact_status(x::text::xid8) = 'committed' end) end
from (
    select pg_snapshot_xmax({snapshot}::pg_snapshot)::text::bigint as start,
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint as stop) as range;

-- On the primary: whether these transactions are visible.
-- read: are_visible
select not exists (
    select from unnest({transactions}::text[]) as x where not pg_visible_in_snapshot(x::xid8, pg_current_snapshot()));

-- On a replica: why it cannot be used, or null.
-- read: find_fault
select case
    when not pg_is_in_recovery() then 'it is not a replica, but accepts writes'
    when system_identifier::text <> split_part({identity}, '/', 1) then 'it is a replica of another primary'
    when not exists (select from neoapi.event_epoch where identity = {identity})
    then 'it follows another timeline than the primary, or has not replayed its promotion'
    when pg_last_wal_replay_lsn() < {lsn}::pg_lsn
    then 'it lags behind the primary by ' || pg_size_pretty({lsn}::pg_lsn - pg_last_wal_replay_lsn())
    end
from pg_control_system();
