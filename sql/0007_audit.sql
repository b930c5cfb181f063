-- SPDX-License-Identifier: Apache-2.0
-- Creates the audit log: who has changed credentials, users, plans, subscriptions and the other rows that an administrator manages, who
-- has run neoapictl, and who has exported data (see doc/audit.md).
--
-- Each entry has the SHA-256 of the one before, so that a changed, removed or moved entry is noticed (src/admin/audit.c). The triggers
-- are deferred: an entry is added when its transaction commits, when that waits for no other lock, so that the one chain neither
-- deadlocks nor is held for longer than a commit.

-- ---------------------------------------------------------------- the log

-- entry is stored as the text of which hash is the SHA-256. The other columns are generated from it, so that they cannot differ.
create table neoapi.audit_entry (
    entry      json not null,
    hash       bytea not null check (length(hash) = 32),
    number     bigint generated always as ((entry->>'number')::bigint) stored primary key, -- without gaps
    id         text collate "C" generated always as (entry->>'id') stored not null,
    owner      text collate "C" generated always as (entry->>'organization_id') stored, -- not organization_id: a purge keeps entries
    tenant     text collate "C" generated always as (entry->>'tenant_id') stored,
    action     text collate "C" generated always as (entry->>'action') stored not null,
    object_id  text collate "C" generated always as (entry#>>'{object,id}') stored,
    credential text collate "C" generated always as (entry#>>'{actor,credential_id}') stored,
    created_at timestamptz generated always as (to_timestamp((entry->>'time')::bigint / 1000.0)) stored not null
);
create index audit_entry_id on neoapi.audit_entry (id);
create index audit_entry_owner on neoapi.audit_entry (owner, id);
create index audit_entry_action on neoapi.audit_entry (owner, action, id);
create index audit_entry_object on neoapi.audit_entry (owner, object_id, id);
create index audit_entry_credential on neoapi.audit_entry (owner, credential, id);
create index audit_entry_created_at on neoapi.audit_entry (owner, created_at, id);

-- One row: the newest entry, whose lock makes the chain one; and the newest one that was removed after five years, which the oldest that
-- is left follows. Its number is 0 and its hash all zeros until one was removed.
create table neoapi.audit_head (
    number         bigint not null,
    hash           bytea not null,
    issued_ms      bigint not null, -- the time in the newest id
    removed_number bigint not null,
    removed_hash   bytea not null
);
create unique index audit_head_is_one on neoapi.audit_head ((true));
insert into neoapi.audit_head values (0, decode(repeat('00', 32), 'hex'), 0, 0, decode(repeat('00', 32), 'hex'));

-- Who acts. neoapictl sets neoapi.audit_actor for its session, neoapi.audit_by for a request. The role is always that of the connection.
-- Without either, it is the module itself, if it is the module's role, or somebody who has connected to the database.
create function neoapi.audit_actor() returns json
    language sql stable set search_path = pg_catalog, pg_temp
    as $$
    select json_build_object(
        'type', case when g.given->>'credential_id' is not null then 'credential' when g.given->>'command' is not null then 'neoapictl'
                     when session_user = s.value then 'system' else 'database' end,
        'credential_id', g.given->>'credential_id', 'user_id', g.given->>'user_id', 'request_id', g.given->>'request_id',
        'command', g.given->>'command', 'role', session_user, 'system_user', g.given->>'system_user', 'sudo_user', g.given->>'sudo_user',
        'host', g.given->>'host', 'address', coalesce(g.given->>'address', host(inet_client_addr())))
    from (select nullif(current_setting('neoapi.audit_actor', true), '')::json as given) g
    left join neoapi.setting s on s.name = 'runtime_role'
    $$;

-- Names the credential that changes rows in this transaction. `request_id` may have a traceparent behind it (see neoapi.event). Returns true, so that it can be a condition of a statement.
create function neoapi.audit_by(credential_id text, actor text, request_id text, address text) returns boolean
    language sql volatile set search_path = pg_catalog, pg_temp
    as $$
    select set_config('neoapi.audit_actor', json_strip_nulls(json_build_object(
        'credential_id', credential_id, 'user_id', case when actor like 'usr\_%' then actor end,
        'request_id', left(request_id, 30), 'address', address))::text, true) is not null
    $$;

-- Adds an entry. `what` has its members, except for id, number, time, previous and actor. Waits for other transactions that have added
-- one and not committed: call it at the end of a transaction. Returns the entry's id.
--
-- The head's row is found by its place, which the transaction remembers, because thousands of versions of it can be in one transaction.
create function neoapi.audit_append(what json) returns text
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    place tid := nullif(current_setting('neoapi.audit_head', true), '')::tid;
    head record;
    now_ms bigint;
    id_ms bigint;
    entry_id text;
    entry text;
begin
    if place is not null then
        select h.ctid as place, h.* into head from neoapi.audit_head h where h.ctid = place for update;
    end if;
    if head is null then
        select h.ctid as place, h.* into strict head from neoapi.audit_head h for update;
    end if;
    now_ms := extract(epoch from clock_timestamp()) * 1000;
    id_ms := greatest(now_ms, head.issued_ms + 1); -- ids are in the order of numbers, whatever the clock does
    entry_id := 'aud_' || lpad(to_hex(id_ms), 12, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 19);
    entry := json_strip_nulls(json_build_object(
        'id', entry_id, 'number', head.number + 1, 'time', now_ms, 'previous', encode(head.hash, 'hex'),
        'action', what->>'action', 'tenant_id', what->>'tenant_id', 'organization_id', what->>'organization_id',
        'object', what->'object', 'actor', neoapi.audit_actor(), 'changed', what->'changed', 'before', what->'before',
        'after', what->'after', 'details', what->'details'));
    insert into neoapi.audit_entry (entry, hash) values (entry::json, sha256(convert_to(entry, 'UTF8')));
    update neoapi.audit_head h
    set (number, hash, issued_ms) = (head.number + 1, sha256(convert_to(entry, 'UTF8')), id_ms)
    where h.ctid = head.place returning h.ctid into strict place;
    perform set_config('neoapi.audit_head', place::text, true);
    return entry_id;
end $$;
revoke execute on function neoapi.audit_append from public;

-- Adds an entry about something that is not a change of an audited row, such as an export. Of details nothing is left out, so they must
-- have no secrets and no personal data.
create function neoapi.audit_add(action text, tenant_id text, organization_id text, object_type text, object_id text, details json)
    returns text
    language sql volatile security definer set search_path = pg_catalog, pg_temp
    as $$
    select neoapi.audit_append(json_build_object('action', action, 'tenant_id', tenant_id, 'organization_id', organization_id,
        'object', case when object_type is not null then json_build_object('type', object_type, 'id', object_id) end, 'details', details))
    $$;
revoke execute on function neoapi.audit_add from public;
grant execute on function neoapi.audit_add to :runtime;

-- ---------------------------------------------------------------- what is refused

-- An entry can be removed after five years, and never changed. The owner and superusers can disable this trigger, which the chain shows.
create function neoapi.audit_refuse() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and old.created_at < now() - interval '5 years' then
        return old;
    end if;
    raise exception 'The audit log cannot be changed.' using errcode = 'insufficient_privilege';
end $$;
create trigger refuse before update or delete on neoapi.audit_entry for each row execute function neoapi.audit_refuse();
create trigger refuse_truncate before truncate on neoapi.audit_entry for each statement execute function neoapi.audit_refuse();

-- Removes up to `most` of the oldest entries if they are older than five years, which adds an entry. Returns how many.
create function neoapi.audit_expire(most int) returns int
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    limit_at timestamptz := now() - interval '5 years';
    last record;
    removed int;
begin
    perform from neoapi.audit_head for update;
    select e.number, e.hash into last
    from (select number, hash, bool_and(created_at < limit_at) over (order by number) as is_old
          from neoapi.audit_entry order by number limit most) e
    where e.is_old order by e.number desc limit 1;
    if last is null then
        return 0;
    end if;
    delete from neoapi.audit_entry where number <= last.number;
    get diagnostics removed = row_count;
    update neoapi.audit_head set (removed_number, removed_hash) = (last.number, last.hash);
    perform neoapi.audit_add('audit.expired', null, null, null, null,
        json_build_object('entries', removed, 'last_number', last.number, 'last_hash', encode(last.hash, 'hex')));
    return removed;
end $$;
revoke execute on function neoapi.audit_expire from public;
grant execute on function neoapi.audit_expire to :runtime;

-- ---------------------------------------------------------------- what is recorded

-- Columns whose values never appear: hashes, and what is encrypted.
create function neoapi.audit_secret_columns(audited regclass) returns text[]
    language sql stable set search_path = pg_catalog, pg_temp
    as $$
    select coalesce(array_agg(attname::text), '{}') from pg_attribute
    where attrelid = audited and attnum > 0
    and (atttypid = 'bytea'::regtype
         or atttypid in ('text'::regtype, 'json'::regtype, 'jsonb'::regtype) and attname ~ '(secret|token|password|hash|private|^value$)')
    $$;

-- Records the change of a row. Arguments: the type of the object, the column of its id, and columns that are not recorded. Of an update
-- `before` and `after` have the changed columns.
create function neoapi.audit_row() returns trigger
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    before jsonb := case when tg_op in ('UPDATE', 'DELETE') then to_jsonb(old) end;
    after jsonb := case when tg_op in ('UPDATE', 'INSERT') then to_jsonb(new) end;
    whole jsonb := coalesce(after, before);
    hidden text[] := tg_argv[2]::text[] || neoapi.audit_secret_columns(tg_relid);
    changed text[];
    organization text := case tg_argv[0] when 'organization' then whole->>'id' else whole->>'organization_id' end;
begin
    if tg_op = 'UPDATE' then
        changed := array(
            select a.attname::text from pg_attribute a
            where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped and a.attname <> all (tg_argv[2]::text[])
            and before->a.attname::text is distinct from after->a.attname::text
            order by a.attnum);
        hidden := hidden || array(select k from jsonb_object_keys(before) k where k <> all (changed));
    end if;
    perform neoapi.audit_append(json_build_object(
        'action', tg_argv[0] || case tg_op when 'INSERT' then '.created' when 'UPDATE' then '.updated' else '.deleted' end,
        'tenant_id', coalesce(whole->>'tenant_id', case tg_argv[0] when 'tenant' then whole->>'id' end,
                              (select o.tenant_id from neoapi.organization o where o.id = organization)),
        'organization_id', organization,
        'object', json_build_object('type', tg_argv[0], 'id', whole->>tg_argv[1]),
        'changed', to_json(changed), 'before', before - hidden, 'after', after - hidden));
    return null;
end $$;

create function neoapi.audit_truncate() returns trigger
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform neoapi.audit_add(tg_argv[0] || '.truncated', null, null, null, null, null);
    return null;
end $$;

-- Records all changes of a table's rows from now on. `unrecorded` are columns that the module writes while it works.
create function neoapi.audit_table(audited regclass, type text, key text, unrecorded text[]) returns void
    language plpgsql as $$
declare
    arguments text := format('%L, %L, %L', type, key, unrecorded);
begin
    execute format('create constraint trigger audit after insert or delete on %s deferrable initially deferred
                    for each row execute function neoapi.audit_row(%s)', audited, arguments);
    execute format('create constraint trigger audit_update after update on %s deferrable initially deferred
                    for each row when (to_jsonb(old) - %L::text[] is distinct from to_jsonb(new) - %L::text[])
                    execute function neoapi.audit_row(%s)', audited, unrecorded, unrecorded, arguments);
    execute format('create trigger audit_truncate after truncate on %s
                    for each statement execute function neoapi.audit_truncate(%s)', audited, arguments);
end $$;

-- The tables that are not here, and why, are in tests/e2e/test_audit.py.
select neoapi.audit_table('neoapi.plan', 'plan', 'name', '{}');
select neoapi.audit_table('neoapi.tenant', 'tenant', 'id', '{}');
select neoapi.audit_table('neoapi.organization', 'organization', 'id', '{}');
select neoapi.audit_table('neoapi.app_user', 'user', 'id', '{}');
select neoapi.audit_table('neoapi.credential', 'credential', 'id', '{}');
select neoapi.audit_table('neoapi.token_organization', 'token_organization', 'credential_id', '{}');
select neoapi.audit_table('neoapi.listing_feed', 'listing_feed', 'id', '{}');
select neoapi.audit_table('neoapi.webhook_subscription', 'webhook', 'id',
    '{updated_at,updated_by,health,last_success_at,failing_since,limited_until,paused_until,is_announced,representation}');
select neoapi.audit_table('neoapi.webhook_header', 'webhook_header', 'subscription_id', '{}');
select neoapi.audit_table('neoapi.whatsapp_number', 'whatsapp_number', 'id',
    '{refused_at,refusal,is_busy,verified_name,quality_rating,messaging_limit,reported_at}');
select neoapi.audit_table('neoapi.lead_portal', 'portal', 'id', '{}');
select neoapi.audit_table('neoapi.host', 'host', 'name', '{version,seen_at,clock_ahead_ms,delivers,requests,attempts,is_temporary}');

-- ---------------------------------------------------------------- what clients read

-- An entry as the API returns it to its organization: what the operator's systems and staff are called is left out.
create function neoapi.audit_record(e neoapi.audit_entry) returns text
    language sql stable parallel safe
    return json_strip_nulls(json_build_object(
        'id', e.id,
        'action', e.action,
        'created_at', neoapi.format_timestamp(e.created_at),
        'actor', json_build_object(
            'type', e.entry#>'{actor,type}',
            'credential_id', e.credential,
            'user_id', e.entry#>'{actor,user_id}',
            'request_id', e.entry#>'{actor,request_id}',
            'address', case when e.credential is not null then e.entry#>>'{actor,address}' end),
        'object', e.entry->'object',
        'changed', e.entry->'changed',
        'before', e.entry->'before',
        'after', e.entry->'after',
        'details', e.entry->'details',
        'hash', encode(e.hash, 'hex')))::text;

grant select on neoapi.audit_entry to :runtime;
