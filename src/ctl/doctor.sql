-- SPDX-License-Identifier: Apache-2.0
-- The checks of `neoapictl doctor` (see doctor.c). One row: whether the check succeeds, and what was found. $1: the runtime role.

-- ---------------------------------------------------------------- server

-- name: server
select current_setting('server_version_num')::int >= 150000, 'PostgreSQL ' || current_setting('server_version');

-- name: encoding
select pg_encoding_to_char(d.encoding) = 'UTF8' and lower(U&'\00C1' collate "default") = U&'\00E1',
    format('%s, character type %s', pg_encoding_to_char(d.encoding), d.datctype)
from pg_database d where d.datname = current_database();

-- name: extensions
select count(*) = 3, coalesce(string_agg(extname, ', ' order by extname), 'none')
from pg_extension where extname in ('btree_gin', 'pg_trgm', 'unaccent');

-- name: public_access
select not granted, case when granted then 'every role can connect' else 'only granted roles can connect' end
from has_database_privilege('public', current_database(), 'connect') as granted;

-- ---------------------------------------------------------------- the runtime role

-- name: role
select coalesce(bool_and(rolcanlogin), false),
    case when count(*) = 0 then format('the role %s does not exist', $1::text)
        when bool_and(rolcanlogin) then $1 else format('%s cannot log in', $1) end
from pg_roles where rolname = $1;

-- name: role_attributes
select count(*) = 0, coalesce(string_agg(power, ', '), 'no administrative attributes')
from pg_roles r, pg_namespace n, lateral (values ('superuser', r.rolsuper), ('create roles', r.rolcreaterole),
    ('create databases', r.rolcreatedb), ('bypass row security', r.rolbypassrls),
    ('member of ' || pg_get_userbyid(n.nspowner), pg_has_role(r.oid, n.nspowner, 'member'))) as p (power, held)
where r.rolname = $1 and n.nspname = 'neoapi' and held;

-- name: role_log
select terse, case when terse then 'without details' else 'with details, which contain personal data' end
from (select exists (select from pg_db_role_setting s join pg_roles r on r.oid = s.setrole
    where r.rolname = $1 and 'log_error_verbosity=terse' = any (s.setconfig)) as terse) as found;

-- name: role_create
select count(*) = 0, coalesce('create in: ' || string_agg(place, ', '), 'none') from (
    select 'schema ' || nspname as place from pg_namespace
    where nspname in ('neoapi', 'public') and has_schema_privilege($1, oid, 'create')
    union all select 'database' where has_database_privilege($1, current_database(), 'create')
    union all select 'temporary tables' where has_database_privilege($1, current_database(), 'temporary')) as places;

-- name: role_privileges
select count(*) = 0, coalesce('missing: ' || string_agg(thing, ', '), 'complete') from (
    select 'connect' as thing where not has_database_privilege($1, current_database(), 'connect')
    union all select 'usage of the schema' where not has_schema_privilege($1, 'neoapi', 'usage')
    union all select 'select of credential.role' where not has_column_privilege($1, 'neoapi.credential', 'role', 'select')
    union all select p || ' on ' || t from (values ('broker', 'select,insert,update,delete'),
        ('reference', 'select,insert,update,delete'),
        ('idempotency_key', 'select,insert,delete'),
        ('credential_use', 'select,insert,update'),
        ('credential_expiry', 'select,insert'),
        ('plan', 'select'),
        ('token_organization', 'select'),
        ('clock_step', 'select,insert,delete'),
        ('claim_owner', 'select,insert,delete'),
        ('host', 'select,delete'),
        ('webhook_subscription', 'select,insert,update,delete'),
        ('webhook_queue', 'select,insert,update,delete'),
        ('webhook_delivery', 'select,insert'),
        ('webhook_deletion', 'select,insert,update,delete'),
        ('webhook_attempt', 'select,insert'),
        ('event', 'select,insert'),
        ('event_epoch', 'select'),
        ('event_mark', 'select')) as tables (t, privileges), unnest(string_to_array(privileges, ',')) p
    where not has_table_privilege($1, 'neoapi.' || t, p)
    union all select p || ' on ' || c.relname
    from pg_trigger g join pg_class c on c.oid = g.tgrelid, unnest('{select,insert,update,delete}'::text[]) p
    where g.tgname = 'set_representation' and c.relnamespace = 'neoapi'::regnamespace
    and c.relname not in ('broker', 'webhook_subscription', 'lead', 'whatsapp_opt_out')
    and not has_table_privilege($1, c.oid, p)
    union all select 'usage of event_number' where not has_sequence_privilege($1, 'neoapi.event_number', 'usage')
    union all select 'execute of ' || f
    from unnest(array['maintain_partitions(int, int)', 'check_event_epoch()', 'probe_write()', 'servers()', 'secret_hashes(text)',
        'find_listing_feed(text, bytea)', 'expiring_credential_name(text)']) f
    where not has_function_privilege($1, 'neoapi.' || f, 'execute')) as things;

-- name: role_excess
select count(*) = 0, coalesce(string_agg(thing, ', '), 'none') from (
    select 'read app_user.name' as thing where has_column_privilege($1, 'neoapi.app_user', 'name', 'select')
    union all select 'read credential.' || c from unnest(array['name', 'secret_hash', 'previous_secret_hash']) c
    where has_column_privilege($1, 'neoapi.credential', c, 'select')
    union all select 'read listing_feed' where has_any_column_privilege($1, 'neoapi.listing_feed', 'select')
    union all select 'change ' || t from unnest(array['plan', 'tenant', 'organization', 'app_user', 'credential',
        'token_organization', 'listing_feed', 'schema_migration', 'setting']) t
    where has_any_column_privilege($1, 'neoapi.' || t, 'insert, update')
    or has_table_privilege($1, 'neoapi.' || t, 'delete, truncate')
    union all select 'change event' where has_any_column_privilege($1, 'neoapi.event', 'update')
    or has_table_privilege($1, 'neoapi.event', 'delete, truncate')) as things;

-- ---------------------------------------------------------------- data

-- name: clock_steps
select count(*) = 0, case when count(*) = 0 then 'none within a day' else
    (array_agg(format('the clock of %s was %s ms %s the time at %s UTC', host, abs(ahead_ms),
        case when ahead_ms > 0 then 'ahead of' else 'behind' end,
        to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI')) order by at desc))[1] end
from neoapi.clock_step where at > now() - interval '1 day';

-- name: limits
select count(*) = 0, coalesce('not exchanged by ' || string_agg(h.name, ', ' order by h.name), 'exchanged by all hosts')
from neoapi.host h
where h.seen_at > now() - interval '20 seconds'
and exists (select from neoapi.host o where o.name <> h.name and o.seen_at > now() - interval '20 seconds')
and not exists (select from neoapi.limit_host l where l.name = h.name and l.seen_at > now() - interval '10 seconds');

-- name: partitions
select count(*) = 0, coalesce('missing: ' || string_agg(part, ', '), 'today''s exist')
from (select t || to_char(now() at time zone 'UTC', '_YYYYMMDD') as part
    from unnest(array['webhook_delivery', 'webhook_attempt', 'event']) t) as today
where not exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'neoapi' and c.relname = part);

-- name: indexes
select count(*) = 0, coalesce('invalid: ' || string_agg(c.relname, ', '), 'valid')
from pg_index i join pg_class c on c.oid = i.indexrelid
where c.relnamespace = 'neoapi'::regnamespace and not i.indisvalid;

-- name: cleanup
select count(*) = 0, case when count(*) = 0 then 'up to date' else format('%s%s idempotency keys expired over an hour ago',
    case when count(*) = 1000 then 'at least ' end, count(*)) end
from (select from neoapi.idempotency_key where expires_at < now() - interval '1 hour' limit 1000) k;

-- name: numbers
select refused = 0, coalesce('cannot send: ' || refusals, 'Meta accepts their messages') from neoapi.whatsapp_health();

-- name: messages
select stalled = 0, case when stalled = 0 then 'none is pending for long' else
    format('%s pending for over ten minutes, the oldest, %s, for %s seconds', stalled, oldest_id, oldest) end
from neoapi.whatsapp_health();

-- name: credentials
select valid > 0, format('%s valid key%s or token%s', valid, plural, plural)
from (select count(*) as valid, case when count(*) <> 1 then 's' end as plural
    from neoapi.credential where revoked_at is null) c;

-- Credentials that expire soon; the events credential.expiring announce them to clients.
-- name: expiring
select count(*) = 0, case when count(*) = 0 then 'none within 30 days'
    else format('%s within 30 days, %s of them within 7; the first is %s, at %s', count(*),
        count(*) filter (where expires_at <= now() + interval '7 days'), (array_agg(id order by expires_at))[1],
        neoapi.format_timestamp(min(expires_at))) end
from neoapi.credential where revoked_at is null and expires_at > now() and expires_at <= now() + interval '30 days';
