-- SPDX-License-Identifier: Apache-2.0
-- Creates the tables of portals: their secrets, and the leads that could not be created (see doc/portals.md).

-- The secret is at least 16 random characters, which the portal or neoapictl has made.
create table neoapi.lead_portal (
    organization_id text collate "C" not null references neoapi.organization (id),
    id              text collate "C" not null check (id like 'ptl\_%' and octet_length(id) = 30),
    tenant_id       text collate "C" not null,
    portal          text not null,
    secret_hash     bytea not null check (length(secret_hash) = 32), -- SHA-256
    created_at      timestamptz not null default now(),
    primary key (organization_id, id)
);
create unique index lead_portal_id on neoapi.lead_portal (id);

-- A lead that was posted again is one row. The body is the text that was sent, or "base64:" and its bytes.
create table neoapi.lead_rejected (
    organization_id  text collate "C" not null,
    id               text collate "C" not null check (id like 'lrj\_%' and octet_length(id) = 30),
    portal_id        text collate "C" not null,
    body_hash        bytea not null check (length(body_hash) = 32),
    body             text not null,
    reason           text not null,
    times            int not null default 1,
    received_at      timestamptz not null default now(),
    last_received_at timestamptz not null default now(),
    primary key (organization_id, id)
);
create unique index lead_rejected_body on neoapi.lead_rejected (organization_id, portal_id, body_hash);
create index lead_rejected_old on neoapi.lead_rejected (last_received_at);

grant select on neoapi.lead_portal to :runtime;
grant select, insert, update, delete on neoapi.lead_rejected to :runtime;
