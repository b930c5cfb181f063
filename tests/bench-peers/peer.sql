-- SPDX-License-Identifier: Apache-2.0
-- The peer's tables in their own schema, with the same brokers and the same indexes as the module's tables. peer.py inserts the keys.

\set ON_ERROR_STOP on
begin; -- all of it or nothing: what an interrupted run leaves is emptied by the next
set local client_min_messages = warning;
set local synchronous_commit = off;
drop schema if exists peer cascade;
create schema peer;

create table peer.api_key (
    hash            bytea primary key, -- SHA-256 of the secret
    id              text not null,
    tenant_id       text not null,
    organization_id text not null,
    scopes          text[] not null,
    max_requests    int not null, -- in a minute
    revoked_at      timestamptz
);

create table peer.broker (
    organization_id text collate "C" not null,
    id              text collate "C" not null,
    tenant_id       text collate "C" not null,
    name            text not null,
    creci           text,
    creci_key       text collate "C", -- what the server makes of creci: upper case, letters and digits
    document_number text,
    email           text,
    phone           text,
    bank_account    jsonb,
    external_id     text collate "C",
    metadata        jsonb,
    visibility      text not null,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    created_by      text not null,
    updated_by      text not null,
    primary key (organization_id, id)
);

insert into peer.broker
select organization_id, id, tenant_id, name, creci, neoapi.creci_key(creci), document_number, email, phone, bank_account::jsonb,
       external_id, metadata::jsonb, visibility, created_at, updated_at, created_by, updated_by
from neoapi.broker order by id;

create unique index broker_creci_key on peer.broker (organization_id, creci_key);
create unique index broker_external_id_key on peer.broker (organization_id, external_id) where external_id is not null;
create index broker_document_number on peer.broker (organization_id, document_number, id);
create index broker_email on peer.broker (organization_id, lower(email), id);
create index broker_visibility on peer.broker (organization_id, visibility, id);
create index broker_updated_at on peer.broker (organization_id, updated_at, id);
create index broker_name on peer.broker using gin (organization_id, neoapi.folded(name) gin_trgm_ops);

create table peer.event (
    organization_id text collate "C" not null,
    id              text collate "C" not null,
    type            text not null,
    resource_id     text collate "C" not null,
    created_at      timestamptz not null,
    actor           text collate "C" not null,
    request_id      text,
    payload         jsonb not null,
    changed         text[],
    previous        jsonb,
    primary key (organization_id, id)
);
create index event_resource on peer.event (organization_id, resource_id, id);
create index event_type on peer.event (organization_id, type, id);
create index event_actor on peer.event (organization_id, actor, id);

create table peer.webhook_subscription (
    id              text collate "C" primary key,
    organization_id text collate "C" not null,
    url             text not null,
    events          text[] not null,
    is_active       boolean not null default true
);
create index webhook_subscription_organization on peer.webhook_subscription (organization_id);
insert into peer.webhook_subscription select id, organization_id, url, events from neoapi.webhook_subscription;

-- A row is a delivery and its entry in the queue.
create table peer.webhook_delivery (
    id              bigint generated always as identity primary key,
    organization_id text collate "C" not null,
    subscription_id text collate "C" not null,
    event_id        text collate "C" not null,
    status          text not null default 'pending',
    attempts        int not null default 0,
    due_at          timestamptz not null default now()
);
create index webhook_delivery_due on peer.webhook_delivery (due_at) where status = 'pending';
create index webhook_delivery_subscription on peer.webhook_delivery (subscription_id, status, id);
create index webhook_delivery_event on peer.webhook_delivery (event_id);

create table peer.idempotency_key (
    key_id        text collate "C" not null,
    key           uuid not null,
    request_hash  bytea not null,
    status        int not null,
    response_body text not null,
    expires_at    timestamptz not null,
    primary key (key_id, key)
);
create index idempotency_key_expires_at on peer.idempotency_key (expires_at);
commit;
