-- What every other migration stands on: tenants, organizations, plans, users, credentials, idempotency keys, webhook outbox.
--
-- Rules of this schema
--   The primary key of everything that an organization owns is (organization_id, id). Ids sort by time of creation, so this one
--   index serves reading, newest-first lists, paging and the separation of tenants. Every unique key begins with the
--   organization too.
--   Text that identifies is compared bytewise: collate "C".
--   Resources have no foreign key to their organization: it comes from the credential, never from a body, and the check would
--   lock the same organization's row in every write.
--   The runtime role gets exactly the privileges that its statements need, column by column where a table holds more.
--
-- :runtime is the runtime role's name; neoapictl fills it in.

create extension if not exists btree_gin with schema public;
create extension if not exists pg_trgm with schema public;
create extension if not exists unaccent with schema public;

grant usage on schema neoapi to :runtime;

-- ---------------------------------------------------------------- functions

-- A moment as the API writes it: 2026-01-31T13:45:10.123Z
create function neoapi.instant(at timestamptz) returns text
    language sql stable strict parallel safe
    return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- A name as searches compare it: without case and accents. The dictionary is named, so that the result depends on nothing else.
-- (plpgsql, because an SQL function that promises more than its body keeps is planned anew for every row.)
create function neoapi.folded(name text) returns text
    language plpgsql immutable strict parallel safe as $$
begin
    return lower(public.unaccent('public.unaccent'::regdictionary, name));
end $$;

-- The n-th id of a block that the module has reserved: a stem of 26 characters, and n in four base32 digits.
create function neoapi.block_id(stem text, n bigint) returns text
    language sql immutable strict parallel safe
    return stem || substr('0123456789abcdefghjkmnpqrstvwxyz', (n >> 15 & 31)::int + 1, 1)
                || substr('0123456789abcdefghjkmnpqrstvwxyz', (n >> 10 & 31)::int + 1, 1)
                || substr('0123456789abcdefghjkmnpqrstvwxyz', (n >> 5 & 31)::int + 1, 1)
                || substr('0123456789abcdefghjkmnpqrstvwxyz', (n & 31)::int + 1, 1);

-- ---------------------------------------------------------------- who there is

create table neoapi.plan (
    name           text primary key check (name ~ '^[a-z0-9_-]{1,40}$'),
    requests       int not null check (requests > 0),
    window_seconds int not null check (window_seconds between 1 and 86400)
);
insert into neoapi.plan (name, requests, window_seconds) values ('default', 600, 60);

create table neoapi.tenant (
    id         text collate "C" primary key check (id ~ '^tnt_[0-9a-hjkmnp-tv-z]{26}$'),
    name       text not null check (length(name) between 1 and 200),
    plan       text not null default 'default' references neoapi.plan (name) on update cascade,
    created_at timestamptz not null default now()
);

create table neoapi.organization (
    id         text collate "C" primary key check (id ~ '^org_[0-9a-hjkmnp-tv-z]{26}$'),
    tenant_id  text collate "C" not null references neoapi.tenant (id),
    name       text not null check (length(name) between 1 and 200),
    created_at timestamptz not null default now(),
    unique (tenant_id, id)
);

create table neoapi.app_user (
    id         text collate "C" primary key check (id ~ '^usr_[0-9a-hjkmnp-tv-z]{26}$'),
    tenant_id  text collate "C" not null references neoapi.tenant (id),
    email      text not null check (length(email) between 3 and 254),
    name       text not null check (length(name) between 1 and 200),
    role       text not null check (role in ('org_admin', 'org_editor', 'org_viewer')),
    created_at timestamptz not null default now(),
    unique (tenant_id, id)
);
create unique index app_user_email_key on neoapi.app_user (tenant_id, lower(email));

-- API keys (nbr_) and personal access tokens (pat_). The id is public; of the secret only its SHA-256 is kept.
create table neoapi.credential (
    id              text collate "C" primary key check (id ~ '^(nbr|pat)_[0-9a-hjkmnp-tv-z]{26}$'),
    tenant_id       text collate "C" not null references neoapi.tenant (id),
    organization_id text collate "C",
    user_id         text collate "C",
    name            text not null check (length(name) between 1 and 200),
    role            text check (role in ('org_admin', 'org_editor', 'org_viewer')),
    scopes          text[],
    secret_hash     bytea not null check (length(secret_hash) = 32),
    created_at      timestamptz not null default now(),
    revoked_at      timestamptz,
    unique (tenant_id, id),
    foreign key (tenant_id, organization_id) references neoapi.organization (tenant_id, id),
    foreign key (tenant_id, user_id) references neoapi.app_user (tenant_id, id),
    -- a key belongs to one organization and has a role, and maybe fewer scopes than the role has; a token belongs to a user,
    -- whose role it has
    check (case when id like 'nbr\_%' then organization_id is not null and user_id is null and role is not null
                else organization_id is null and user_id is not null and role is null and scopes is null end)
);

-- The organizations that a personal access token reaches, in the order in which they were given.
create table neoapi.token_organization (
    credential_id   text collate "C" not null,
    tenant_id       text collate "C" not null,
    organization_id text collate "C" not null,
    position        int not null,
    primary key (credential_id, organization_id),
    foreign key (tenant_id, credential_id) references neoapi.credential (tenant_id, id) on delete cascade,
    foreign key (tenant_id, organization_id) references neoapi.organization (tenant_id, id)
);

-- Every process keeps what it has read of credentials until something here changes, by whatever hand.
create function neoapi.tell_credentials_changed() returns trigger language plpgsql as $$
begin
    perform pg_notify('neoapi_credentials', '');
    return null;
end $$;

create trigger changed after insert or update or delete or truncate on neoapi.plan
    for each statement execute function neoapi.tell_credentials_changed();
create trigger changed after insert or update or delete or truncate on neoapi.tenant
    for each statement execute function neoapi.tell_credentials_changed();
create trigger changed after insert or update or delete or truncate on neoapi.organization
    for each statement execute function neoapi.tell_credentials_changed();
create trigger changed after insert or update or delete or truncate on neoapi.app_user
    for each statement execute function neoapi.tell_credentials_changed();
create trigger changed after insert or update or delete or truncate on neoapi.credential
    for each statement execute function neoapi.tell_credentials_changed();
create trigger changed after insert or update or delete or truncate on neoapi.token_organization
    for each statement execute function neoapi.tell_credentials_changed();

grant select on neoapi.plan to :runtime;
grant select (id, plan) on neoapi.tenant to :runtime;
grant select (id, email, role) on neoapi.app_user to :runtime;
grant select (id, tenant_id, organization_id, user_id, role, scopes, secret_hash, revoked_at) on neoapi.credential to :runtime;
grant select on neoapi.token_organization to :runtime;

-- ---------------------------------------------------------------- idempotency

-- Written in the transaction of the write that it stands for. `answer` is the response's body.
create table neoapi.idempotency_key (
    organization_id text collate "C" not null,
    credential_id   text collate "C" not null,
    key             uuid not null,
    request_hash    bytea not null,
    status          smallint not null,
    answer          text not null,
    expires_at      timestamptz not null,
    primary key (organization_id, credential_id, key)
);
create index idempotency_key_expiry on neoapi.idempotency_key (expires_at);
grant select, insert, delete on neoapi.idempotency_key to :runtime;

-- ---------------------------------------------------------------- webhooks: who wants to know, and what is to be told

create table neoapi.webhook_subscription (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id ~ '^whs_[0-9a-hjkmnp-tv-z]{26}$'),
    url             text not null,
    events          text[] not null check (cardinality(events) > 0), -- event names, or '*'
    is_active       boolean not null default true,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    primary key (organization_id, id)
);

-- The last digits choose the ids of deliveries (see store/table.c).
create unique index webhook_subscription_ending on neoapi.webhook_subscription (organization_id, right(id, 4));

-- The transactional outbox: one row a delivery, written by the statement that changes the resource.
create table neoapi.webhook_delivery (
    organization_id text collate "C" not null,
    id              text collate "C" not null,
    subscription_id text collate "C" not null,
    event_type      text not null,
    payload         text not null, -- JSON, exactly as it is sent
    status          text not null default 'pending', -- pending, success, failed; a check would cost a tenth of the insert
    created_at      timestamptz not null,
    primary key (organization_id, id)
);
grant select on neoapi.webhook_subscription to :runtime;
grant select, insert on neoapi.webhook_delivery to :runtime;
