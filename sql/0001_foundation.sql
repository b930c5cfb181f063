-- SPDX-License-Identifier: Apache-2.0
-- Creates what all other tables need: common functions, tenants, organizations, users, credentials, idempotency keys.
--
-- Rules of this schema
--   The primary key of every table that an organization owns is (organization_id, id). Ids sort by creation time, so this one
--   index serves reads, newest-first lists, keyset pagination and the separation of organizations. Unique indexes begin with
--   organization_id, too.
--   Unique indexes are named <table>_<field>_key: the module derives the field of a unique violation from the name.
--   Identifiers are collate "C", which compares bytes.
--   Resources have no foreign key to their organization: the id comes from the credential, never from a request's body, and the
--   foreign key would lock the same organization's row in every write.
--   The check of an id compares prefix and length only; the module checks the characters. A regular expression would cost twenty
--   times as much, and an SQL function would be inlined again in every execution of a statement.
--   The runtime role gets only the privileges that its statements need, by column if a table also holds other data.
--
-- neoapictl replaces :runtime with the name of the runtime role.

create extension if not exists btree_gin with schema public;
create extension if not exists pg_trgm with schema public;
create extension if not exists unaccent with schema public;

grant usage on schema neoapi to :runtime;

-- ---------------------------------------------------------------- functions

-- A timestamp in the format of the API: 2026-01-31T13:45:10.123Z
create function neoapi.format_timestamp(at timestamptz) returns text
    language sql stable strict parallel safe
    return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- A name without case and accents, for searches. The dictionary is explicit, so that the result does not depend on search_path.
-- PL/pgSQL, because an SQL function that is declared immutable but calls a stable one is not inlined and is planned for every
-- row.
create function neoapi.folded(name text) returns text
    language plpgsql immutable strict parallel safe as $$
begin
    return lower(public.unaccent('public.unaccent'::regdictionary, name));
end $$;

-- The n-th id of a block that the module has reserved: the block's 26 common characters, and n as four base32 digits.
create function neoapi.block_id(block text, n bigint) returns text
    language sql immutable strict parallel safe
    return block || substr('0123456789abcdefghjkmnpqrstvwxyz', (n >> 15 & 31)::int + 1, 1)
                 || substr('0123456789abcdefghjkmnpqrstvwxyz', (n >> 10 & 31)::int + 1, 1)
                 || substr('0123456789abcdefghjkmnpqrstvwxyz', (n >> 5 & 31)::int + 1, 1)
                 || substr('0123456789abcdefghjkmnpqrstvwxyz', (n & 31)::int + 1, 1);

-- Its cost makes PostgreSQL choose custom plans for a prepared statement that contains it (see src/sql/page.c). A custom plan
-- drops the condition that contains it, so it is never executed.
create function neoapi.force_custom_plan() returns boolean
    language plpgsql volatile cost 1e12 as $$
begin
    return true;
end $$;

-- ---------------------------------------------------------------- tenants, organizations, users

create table neoapi.plan (
    name                text primary key check (name ~ '^[a-z0-9_-]{1,40}$'),
    requests            int not null check (requests > 0),
    window_seconds      int not null check (window_seconds between 1 and 86400),
    -- of each organization; null: unlimited
    subscriptions       int default 50 check (subscriptions > 0), -- of webhooks
    concurrent_requests int default 50 check (concurrent_requests > 0),
    idempotency_bytes   int default 1000000000 check (idempotency_bytes > 0),
    deliveries_per_hour int default 100000 check (deliveries_per_hour > 0) -- of webhooks, to each receiver's host
);
insert into neoapi.plan (name, requests, window_seconds) values ('default', 600, 60);

create table neoapi.tenant (
    id         text collate "C" primary key check (id like 'tnt\_%' and octet_length(id) = 30),
    name       text not null check (length(name) between 1 and 200),
    plan       text not null default 'default' references neoapi.plan (name) on update cascade,
    created_at timestamptz not null default now()
);

create table neoapi.organization (
    id         text collate "C" primary key check (id like 'org\_%' and octet_length(id) = 30),
    tenant_id  text collate "C" not null references neoapi.tenant (id),
    name       text not null check (length(name) between 1 and 200),
    created_at timestamptz not null default now(),
    lead_assignment text not null default 'none' check (lead_assignment in ('none', 'property', 'turn')), -- see lead_choose_broker
    unique (tenant_id, id)
);

create table neoapi.app_user (
    id         text collate "C" primary key check (id like 'usr\_%' and octet_length(id) = 30),
    tenant_id  text collate "C" not null references neoapi.tenant (id),
    email      text not null check (length(email) between 3 and 254),
    name       text not null check (length(name) between 1 and 200),
    role       text not null check (role in ('org_admin', 'org_editor', 'org_viewer')),
    created_at timestamptz not null default now(),
    unique (tenant_id, id)
);
create unique index app_user_email_key on neoapi.app_user (tenant_id, lower(email));

-- ---------------------------------------------------------------- credentials

-- API keys (nbr_) and personal access tokens (pat_). Only the SHA-256 of the secret is stored.
create table neoapi.credential (
    id                    text collate "C" primary key
                          check ((id like 'nbr\_%' or id like 'pat\_%') and octet_length(id) = 30),
    tenant_id             text collate "C" not null references neoapi.tenant (id),
    organization_id       text collate "C",
    user_id               text collate "C",
    name                  text not null check (length(name) between 1 and 200),
    role                  text check (role in ('org_admin', 'org_editor', 'org_viewer')),
    scopes                text[],
    secret_hash           bytea not null check (length(secret_hash) = 32),
    created_at            timestamptz not null default now(),
    revoked_at            timestamptz,
    previous_secret_hash  bytea check (length(previous_secret_hash) = 32),
    previous_secret_until timestamptz, -- until then the secret before the last rotation is valid, too
    description           text check (length(description) between 1 and 200),
    expires_at            timestamptz, -- null: never
    allowed_networks      cidr[] check (cardinality(allowed_networks) between 1 and 100), -- null: all
    unique (tenant_id, id),
    foreign key (tenant_id, organization_id) references neoapi.organization (tenant_id, id),
    foreign key (tenant_id, user_id) references neoapi.app_user (tenant_id, id),
    -- An API key belongs to one organization and has a role, and optionally scopes that restrict it. A token belongs to a user
    -- and has the user's role.
    check (case when id like 'nbr\_%' then organization_id is not null and user_id is null and role is not null
                else organization_id is null and user_id is not null and role is null and scopes is null end),
    check ((previous_secret_hash is null) = (previous_secret_until is null))
);

create index credential_expires_at on neoapi.credential (expires_at) where expires_at is not null and revoked_at is null;

-- The events credential.expiring that were added: `days` before the expiry. Another expires_at has others.
create table neoapi.credential_expiry (
    credential_id text collate "C" not null references neoapi.credential (id) on delete cascade,
    expires_at    timestamptz not null,
    days          int not null,
    primary key (credential_id, expires_at, days)
);

-- The organizations that a personal access token has access to, in the order in which the administrator named them.
create table neoapi.token_organization (
    credential_id   text collate "C" not null,
    tenant_id       text collate "C" not null,
    organization_id text collate "C" not null,
    position        int not null,
    primary key (credential_id, organization_id),
    foreign key (tenant_id, credential_id) references neoapi.credential (tenant_id, id) on delete cascade,
    foreign key (tenant_id, organization_id) references neoapi.organization (tenant_id, id)
);

-- The hour of each credential's last use, for lists. A table of its own, because a change of a credential clears all caches. A process
-- writes it at most once an hour for each credential, in the background.
create table neoapi.credential_use (
    credential_id text collate "C" primary key references neoapi.credential (id) on delete cascade,
    used_at       timestamptz not null
);

-- Every process caches credentials. Triggers invalidate the caches, so that changes made by hand in psql count as well.
create function neoapi.notify_credentials_changed() returns trigger language plpgsql as $$
begin
    perform pg_notify('neoapi_credentials', '');
    return null;
end $$;

create trigger notify_credentials_changed after insert or update or delete or truncate on neoapi.plan
    for each statement execute function neoapi.notify_credentials_changed();
create trigger notify_credentials_changed after insert or update or delete or truncate on neoapi.tenant
    for each statement execute function neoapi.notify_credentials_changed();
create trigger notify_credentials_changed after insert or update or delete or truncate on neoapi.organization
    for each statement execute function neoapi.notify_credentials_changed();
create trigger notify_credentials_changed after insert or update or delete or truncate on neoapi.app_user
    for each statement execute function neoapi.notify_credentials_changed();
create trigger notify_credentials_changed after insert or update or delete or truncate on neoapi.credential
    for each statement execute function neoapi.notify_credentials_changed();
create trigger notify_credentials_changed after insert or update or delete or truncate on neoapi.token_organization
    for each statement execute function neoapi.notify_credentials_changed();

grant select on neoapi.plan, neoapi.token_organization to :runtime;
grant select, insert, update on neoapi.credential_use to :runtime;
grant select (id, plan) on neoapi.tenant to :runtime;
grant select (id, lead_assignment) on neoapi.organization to :runtime;
grant select (id, email, role) on neoapi.app_user to :runtime;
grant select, insert on neoapi.credential_expiry to :runtime;
grant select (id, tenant_id, organization_id, user_id, role, scopes, revoked_at, previous_secret_until, expires_at,
              allowed_networks) on neoapi.credential
    to :runtime;

-- The hashes of one credential's secrets. The runtime role has no other access to hashes, so it can neither list nor search them.
create function neoapi.secret_hashes(credential_id text, out secret_hash bytea, out previous_secret_hash bytea)
    language sql stable security definer set search_path = pg_catalog, pg_temp
    begin atomic
        select c.secret_hash, c.previous_secret_hash from neoapi.credential c where c.id = $1;
    end;
revoke execute on function neoapi.secret_hashes from public;
grant execute on function neoapi.secret_hashes to :runtime;

-- The name of a credential that expires soon, for credential.expiring.
create function neoapi.expiring_credential_name(credential_id text) returns text
    language sql stable security definer set search_path = pg_catalog, pg_temp
    begin atomic
        select c.name from neoapi.credential c where c.id = $1 and c.expires_at < now() + interval '31 days';
    end;
revoke execute on function neoapi.expiring_credential_name from public;
grant execute on function neoapi.expiring_credential_name to :runtime;

-- ---------------------------------------------------------------- feeds of listings

-- A portal reads the active properties of an organization with a feed's token, of which only the SHA-256 is stored. Advertisements have
-- the feed's contact.
create table neoapi.listing_feed (
    id              text collate "C" primary key check (id like 'lst\_%' and octet_length(id) = 30),
    tenant_id       text collate "C" not null,
    organization_id text collate "C" not null,
    name            text not null check (length(name) between 1 and 200),
    contact_name    text not null check (length(contact_name) between 1 and 200),
    contact_email   text not null check (length(contact_email) between 3 and 254),
    contact_phone   text not null check (length(contact_phone) between 1 and 200),
    secret_hash     bytea not null check (length(secret_hash) = 32),
    created_at      timestamptz not null default now(),
    revoked_at      timestamptz,
    foreign key (tenant_id, organization_id) references neoapi.organization (tenant_id, id)
);
create trigger notify_credentials_changed after insert or update or delete or truncate on neoapi.listing_feed
    for each statement execute function neoapi.notify_credentials_changed();

-- The feed of a token that is not revoked. The runtime role has no other access to feeds.
create function neoapi.find_listing_feed(feed_id text, secret_hash bytea, out tenant_id text, out organization_id text,
                                         out contact_name text, out contact_email text, out contact_phone text,
                                         out created_at timestamptz) returns setof record
    language sql stable security definer set search_path = pg_catalog, pg_temp
    begin atomic
        select f.tenant_id, f.organization_id, f.contact_name, f.contact_email, f.contact_phone, f.created_at
        from neoapi.listing_feed f where f.id = $1 and f.secret_hash = $2 and f.revoked_at is null;
    end;
revoke execute on function neoapi.find_listing_feed from public;
grant execute on function neoapi.find_listing_feed to :runtime;

-- ---------------------------------------------------------------- idempotency keys

-- A key is inserted in the transaction of its write. A batch inserts its key first and stores the response at the end.
create table neoapi.idempotency_key (
    organization_id text collate "C" not null,
    credential_id   text collate "C" not null,
    key             uuid not null,
    request_hash    bytea not null,
    status          smallint not null,
    response_body   text not null,
    secret          text, -- encrypted; the secret that only this response contains
    expires_at      timestamptz not null,
    primary key (organization_id, credential_id, key)
);
create index idempotency_key_expires_at on neoapi.idempotency_key (expires_at);
-- Few responses have a secret. neoapictl reencrypt and doctor find them.
create index idempotency_key_secret on neoapi.idempotency_key (organization_id, credential_id, key) where secret is not null;
grant select, insert, delete, update (response_body) on neoapi.idempotency_key to :runtime;

-- ---------------------------------------------------------------- clocks

-- Steps of the hosts' system clocks by more than a second, for neoapictl doctor. Kept for 30 days.
create table neoapi.clock_step (
    host     text not null,
    at       timestamptz not null, -- the minute
    ahead_ms bigint not null,
    primary key (host, at)
);
grant select, insert, delete on neoapi.clock_step to :runtime;

-- ---------------------------------------------------------------- hosts

-- The hosts of the deployment. Their processes record all but drained_at, which is set by neoapictl drain and undrain. A host that has
-- not been seen for a week and is not drained is removed; a temporary one, such as a container, after five minutes.
create table neoapi.host (
    name           text collate "C" primary key check (length(name) between 1 and 200),
    version        text not null, -- of the module
    seen_at        timestamptz not null default now(),
    clock_ahead_ms bigint not null, -- of the system clock before the database's
    delivers       boolean not null, -- webhooks
    requests       int not null, -- in progress
    attempts       int not null, -- in flight
    drained_at     timestamptz,
    is_temporary   boolean not null default false
);
grant select, delete, insert (name, version, clock_ahead_ms, delivers, requests, attempts, is_temporary),
    update (version, seen_at, clock_ahead_ms, delivers, requests, attempts, is_temporary)
    on neoapi.host to :runtime;

-- ---------------------------------------------------------------- limits

-- When each host exchanged its leases last. They are valid for 5 seconds; src/api/lease.c has the same limit.
create unlogged table neoapi.limit_host (
    name            text collate "C" primary key,
    seen_at         timestamptz not null,
    number          bigint not null, -- of the exchange; each host has its own numbers
    version         bigint not null, -- of the exchange; the hosts' have one sequence
    complete_number bigint not null  -- the number of the last exchange in which it sent all leases
) with (fillfactor = 50);
grant select, insert, update, delete on neoapi.limit_host to :runtime;

-- The hosts' parts of limits of the deployment: of a credential's requests, of an organization's deliveries to a receiver, and of its
-- requests in progress. The rows of a host that has ended keep what it used until the window has passed. Then they have 0 for a minute, so
-- that the other hosts read it.
create unlogged table neoapi.limit_lease (
    name           text collate "C",
    host           text collate "C",
    max_count      int not null,
    window_seconds int not null, -- 0: the limit is of requests in progress
    lease          int not null, -- of max_count
    used           int not null, -- of the lease, in the window
    demand         int not null, -- requests lately, including refused ones
    wanted         int not null, -- how many requests a batch counts as that was refused lately; 0: none, or another host's is as large
    changed_at     timestamptz not null,
    version        bigint not null, -- of the exchange that has changed max_count, used, demand or wanted
    primary key (name, host)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index limit_lease_version on neoapi.limit_lease (host, version);
grant select, insert, update, delete on neoapi.limit_lease to :runtime;

-- Exchanges the leases of the host `me`: those that have changed, or all if `known` is 0. `leases` and `targets` are what the host has
-- and what it needs. A lease is null if the host has only its equal part; a target is null if it needs no row any more. The host has
-- reduced leases with lower targets before the call. For higher targets it gets what no other host has or can have:
--   - Another host has its lease. If its leases are not valid, it has at most an equal part; after 30 seconds, what it has used in the
--     window.
--   - A host without a row can have an equal part.
--   - No lease grows until all hosts have exchanged leases, because the table is empty after a crash of the database.
--   - A host whose leases were not valid gets no more than the others have left to it.
-- If hosts have refused batches that count as several requests, the others leave enough for the largest batch to the host that refused
-- it. Of equal ones only the first is recorded, so that the choice does not change.
-- The leases of a host that has been restarted (is_new) are kept as those of a host that has ended, until the window has passed.
--
-- Returns a row with place 0; the leases, by the place of their names in the array; and the limits whose numbers other hosts have changed
-- since `known`, with a lease if `me` has no row of them. `known` is the name in the row with place 0 of the last response that the host
-- applied: the version of that exchange, and a hash of the other hosts with valid leases. If the hash has changed, or another host has
-- sent all its leases, the response has the limits of all others, and other_used is 1 in the row with place 0. A host deletes its row of a
-- limit only after it has sent that nothing is used, so the others need not learn of the deletion.
--
-- Returns only a row with place -1 if the table does not have all leases of `me`: it is empty after a crash, or the host is not alone and
-- has not been seen for five seconds. Returns nothing if another host holds the lock for 50 ms, or if a later exchange of `me`, which has
-- a higher number, was executed before this one, whose process was stopped meanwhile.
--
-- plpgsql, because its statements have snapshots of their own: those after the lock see what another host has recorded. They are planned
-- each time, and find rows by the primary key or the hosts, because the table can grow from nothing to many rows before it is analyzed.
create function neoapi.exchange_leases(me text, number bigint, known bigint, hosts int, is_new boolean, names text[], limits int[],
                                       windows int[], leases int[], targets int[], used int[], demands int[], wanted int[])
    returns table (place int, name text, max_count int, window_seconds int, lease int, other_used int, other_demand int,
                   other_wanted int)
    language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
    moment timestamptz; -- of the exchange
    own record;
    next_version bigint;
    is_valid boolean; -- the leases of `me`
    may_grow boolean;
    peers bigint;     -- the hash
    is_all boolean;   -- the response has the limits of all others
    others text[];    -- that have leases
    ended text[];     -- of these
begin
    for attempt in 1..6 loop
        exit when pg_try_advisory_xact_lock(hashtext('neoapi.limit_lease'));
        if attempt = 6 then
            return;
        end if;
        perform pg_sleep(0.01);
    end loop;
    moment := clock_timestamp();
    select * into own from neoapi.limit_host h where h.name = me;
    is_valid := coalesce(own.seen_at > moment - interval '5 seconds', false);
    if is_valid and own.number > exchange_leases.number then
        return;
    end if;
    if not (is_valid or known = 0 or hosts = 1 and own.name is not null) then
        return query select -1, null, null::int, null::int, null::int, null::int, null::int, null::int;
        return;
    end if;
    select coalesce(max(h.version), 0) + 1, is_valid and count(*) filter (where h.name <> me) >= hosts - 1,
        coalesce(hashtext(string_agg(h.name || ' ' || h.complete_number, ',' order by h.name)
            filter (where h.name <> me and h.seen_at > moment - interval '5 seconds')), 0) & 8388607
    into next_version, may_grow, peers from neoapi.limit_host h;
    is_all := known = 0 or known & 8388607 <> peers;
    insert into neoapi.limit_host as h (name, seen_at, number, version, complete_number)
    values (me, moment, number, next_version, case when known = 0 then number else own.complete_number end)
    on conflict (name) do update set (seen_at, number, version, complete_number) =
        (excluded.seen_at, excluded.number, excluded.version, excluded.complete_number);
    delete from neoapi.limit_host h where h.seen_at < moment - interval '1 minute';

    if known = 0 then
        update neoapi.limit_lease l set (host, version) = (me || ' ' || number, next_version)
        where is_new and hosts > 1 and l.host = me and l.window_seconds > 0 and l.used > 0;
        delete from neoapi.limit_lease l where l.host = me;
    else
        delete from neoapi.limit_lease l
        where l.name = any (array(select m.name from unnest(names, targets) as m (name, target) where m.target is null)) and l.host = me;
    end if;

    with recursive holder as ( -- reads the index once for each host
        (select l.host from neoapi.limit_lease l order by l.host limit 1)
        union all
        select (select l.host from neoapi.limit_lease l where l.host > o.host order by l.host limit 1) from holder o where o.host is not null)
    select array_agg(o.host), array_agg(o.host) filter (where h.name is null)
    into others, ended
    from holder o left join neoapi.limit_host h on h.name = o.host and h.seen_at > moment - interval '30 seconds'
    where o.host <> me;
    if ended is not null then
        delete from neoapi.limit_lease l
        where l.host = any (ended) and l.used = 0 and l.demand = 0
        and l.changed_at < moment - make_interval(secs => greatest(l.window_seconds, 60));
        update neoapi.limit_lease l set (lease, used, demand, changed_at, version) = (0, 0, 0, moment, next_version)
        where l.host = any (ended) and (l.used > 0 or l.demand > 0) and l.changed_at < moment - make_interval(secs => l.window_seconds);
    end if;

    return query
    with seen as materialized (
        select h.name, h.seen_at > moment - interval '5 seconds' as is_valid
        from neoapi.limit_host h where h.seen_at > moment - interval '30 seconds'),
    mine as materialized (
        select * from unnest(names, limits, windows, leases, targets, used, demands, wanted) with ordinality
            as m (name, max_count, window_seconds, lease, target, used, demand, wanted, place)
        where m.target is not null),
    asked as materialized (
        select * from mine
        union all
        select changed.name, null, null, null, null, null, null, null, null
        from (
            select l.name from unnest(others) as o (host) join neoapi.limit_lease l on l.host = o.host
            where l.version > case when is_all then 0 else known >> 23 end
            except
            select m.name from mine m) as changed),
    limited as materialized (
        select a.*, o.max_count as other_max_count, o.window_seconds as other_window_seconds, o.used as other_used,
            o.demand as other_demand, o.wanted as other_wanted, e.equal,
            coalesce(a.max_count, o.max_count) - coalesce(o.leased, 0) - greatest(hosts - 1 - o.holders, 0) * e.equal as free
        from asked a cross join lateral (
            select (max(array[l.demand, l.max_count]))[2] as max_count, max(l.window_seconds) as window_seconds,
                sum(case when h.is_valid then l.lease
                    when h.name is not null then greatest(l.used, least(l.lease, greatest(l.max_count / hosts, 1)))
                    else l.used end) as leased,
                count(h.name) as holders,
                least(coalesce(sum(l.used), 0), 2147483647)::int as used,
                least(coalesce(sum(l.demand) filter (where h.is_valid), 0), 2147483647)::int as demand,
                coalesce(max(l.wanted) filter (where h.is_valid), 0) as wanted
            from neoapi.limit_lease l left join seen h on h.name = l.host
            where l.name = a.name and l.host <> me) o
        cross join lateral (select greatest(coalesce(a.max_count, o.max_count) / hosts, 1) as equal) e),
    granted as materialized (
        select l.*, greatest(case when is_valid then l.lease end, l.used,
            least(case when may_grow then l.target else least(l.target, coalesce(l.lease, l.equal)) end, l.free))::int as granted
        from limited l where l.place is not null),
    saved as (
        insert into neoapi.limit_lease as l (name, host, max_count, window_seconds, lease, used, demand, wanted, changed_at, version)
        select g.name, me, g.max_count, g.window_seconds, g.granted, g.used, g.demand,
            case when g.wanted > g.other_wanted then g.wanted else 0 end, moment, next_version
        from granted g
        on conflict (name, host) do update set (max_count, window_seconds, lease, used, demand, wanted, changed_at, version) =
            (excluded.max_count, excluded.window_seconds, excluded.lease, excluded.used, excluded.demand, excluded.wanted,
            excluded.changed_at,
            case when (l.max_count, l.used, l.demand, l.wanted)
                = (excluded.max_count, excluded.used, excluded.demand, excluded.wanted) then l.version else excluded.version end))
    select 0, ((next_version << 23) + peers)::text, null::int, null::int, null::int, is_all::int, null::int, null::int
    union all
    select g.place::int, g.name, g.other_max_count, g.window_seconds, g.granted, g.other_used, g.other_demand, g.other_wanted
    from granted g
    union all
    select null, l.name, l.other_max_count, l.other_window_seconds,
        case when not has_row then greatest(least(l.equal, l.free), 0)::int end, l.other_used, l.other_demand,
        l.other_wanted
    from limited l
    cross join lateral (select exists (select from neoapi.limit_lease r where r.name = l.name and r.host = me) as has_row) r
    where l.place is null and (has_row or l.other_used > 0 or l.other_demand > 0 or l.free < l.equal);
end $$;

-- ---------------------------------------------------------------- health

-- Fails if the database cannot execute writes: it is read-only, or its disk is full. An insert into an existing table may find space
-- in its pages; a new table needs a new file, and the transaction's end needs space in the write-ahead log. The table is rolled back.
-- Security definer, because the runtime role cannot create tables.
create function neoapi.probe_write() returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
begin
    create table neoapi.write_probe as select 1;
    raise exception using errcode = 'NEO00';
exception when sqlstate 'NEO00' then
    null;
end $$;
revoke execute on function neoapi.probe_write from public;
grant execute on function neoapi.probe_write to :runtime;

-- ---------------------------------------------------------------- the database's servers

-- The server that answers, and the replicas that are connected to it; name is null if the owner may not see more of a replica. Security
-- definer: this needs pg_read_all_stats, which neoapictl setup grants to the owner. The runtime role would see all roles' statements with it.
create function neoapi.servers()
    returns table (name text, address text, role text, state text, sync_state text, lag_bytes bigint, lag_ms bigint)
    language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select coalesce(nullif(current_setting('cluster_name'), ''), 'database'), host(inet_server_addr()) || ':' || inet_server_port(),
        case when pg_is_in_recovery() then 'standby' else 'primary' end, null, null, null::bigint, null::bigint
    union all
    select case when state is not null then application_name end, host(client_addr), 'replica', state, sync_state,
        pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end, replay_lsn)::bigint,
        (extract(epoch from replay_lag) * 1000)::bigint
    from pg_stat_replication
    where state is distinct from 'backup'
$$;
revoke execute on function neoapi.servers from public;
grant execute on function neoapi.servers to :runtime;

-- ---------------------------------------------------------------- background jobs

-- The schedule of the jobs of src/jobs/jobs.c, and the results of their last runs. A process that runs a job first sets due_at to the
-- end of a lease.
create table neoapi.job (
    name             text primary key,
    due_at           timestamptz not null default now(),
    runs             bigint not null default 0,
    failures         bigint not null default 0,
    last_success_at  timestamptz,
    last_failure_at  timestamptz,
    last_duration_ms int
);
grant select, insert, update on neoapi.job to :runtime;

-- ---------------------------------------------------------------- imports

-- The original id of an imported row that got a new id, so that a repeated import finds the row. Written by neoapictl only.
create table neoapi.imported_id (
    organization_id text collate "C" not null,
    kind            text collate "C" not null, -- the resource's name
    original_id     text collate "C" not null check (length(original_id) between 1 and 200),
    id              text collate "C" not null,
    primary key (organization_id, kind, original_id)
);
