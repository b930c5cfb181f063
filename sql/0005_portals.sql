-- SPDX-License-Identifier: Apache-2.0
-- Creates the tables of portals: their secrets, the contacts that they have posted, and those of which no lead could be made; and the
-- function that stores a contact (see doc/portals.md).

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

-- The contacts that have led to a lead, by the portal's id of the contact. A repeated one is recognized for 30 days, also after a
-- later contact of the same person, a merge or a deletion of the lead.
create table neoapi.lead_origin (
    organization_id text collate "C" not null,
    portal_id       text collate "C" not null,
    origin_id       text collate "C" not null, -- origin.lead_id of the API
    lead_id         text collate "C",          -- null: the lead was deleted
    received_at     timestamptz not null default now(),
    primary key (organization_id, portal_id, origin_id),
    foreign key (organization_id, lead_id) references neoapi.lead (organization_id, id) on delete set null (lead_id)
);
create index lead_origin_lead on neoapi.lead_origin (organization_id, lead_id) where lead_id is not null;
create index lead_origin_old on neoapi.lead_origin (received_at);

grant select on neoapi.lead_portal to :runtime;
grant select, insert, update, delete on neoapi.lead_rejected, neoapi.lead_origin to :runtime;

-- A lead after a further contact: what the newer contact has replaces what the lead has, and what the older one has completes it.
-- The name, the source and the broker in charge stay. A newer contact opens a lost lead again, as src/resources/lead.c allows.
create function neoapi.lead_after_contact(l neoapi.lead, contact neoapi.lead, at timestamptz) returns neoapi.lead
    language plpgsql volatile as $$
declare
    newer neoapi.lead := contact;
    older neoapi.lead := l;
begin
    contact.received_at := coalesce(contact.received_at, at);
    if contact.received_at < l.received_at then
        newer := l;
        older := contact;
    elsif l.status = 'lost' then
        l.status := 'contacted';
        l.lost_reason := null;
    end if;
    l.message := coalesce(newer.message, older.message);
    l.origin := coalesce(newer.origin, older.origin);
    l.property_id := coalesce(newer.property_id, older.property_id);
    l.metadata := coalesce(newer.metadata, older.metadata);
    l.email := coalesce(l.email, contact.email);
    if l.broker_id is null then
        l.broker_id := neoapi.lead_choose_broker(l.organization_id, l.property_id, l.id);
        l.assigned_by := case when l.broker_id is not null then 'rule' end;
    end if;
    l.received_at := greatest(l.received_at, contact.received_at);
    return l;
end $$;

-- Stores a contact that a portal has posted: as a new lead, or in the lead with the same phone. `contact` is a validated body of
-- POST /leads, `listing` the code of the property or null. Returns the lead; or a refusal, no_property; or neither if the contact is
-- repeated or changes nothing.
create function neoapi.portal_receive(organization text, tenant text, portal text, new_id text, new_at timestamptz, listing text, contact json,
                                      hash bytea, request text, out body text, out deliveries bigint, out refusal text)
    language plpgsql volatile as $$
declare
    c neoapi.lead := json_populate_record(null::neoapi.lead, contact);
    l neoapi.lead;
    before neoapi.lead;
    at constant timestamptz := date_trunc('milliseconds', now());
begin
    deliveries := 0;
    if listing is not null and not exists (
            select from neoapi.lead_origin o
            where o.organization_id = organization and o.portal_id = portal and o.origin_id = c.origin->>'lead_id') then
        -- locked, so that it is not deleted before the lead refers to it
        select p.id into c.property_id from neoapi.property p
        where p.organization_id = organization and p.code = listing for key share;
        if not found then
            refusal := 'no_property';
            return;
        end if;
    end if;
    delete from neoapi.lead_rejected r where r.organization_id = organization and r.portal_id = portal and r.body_hash = hash;
    insert into neoapi.lead_origin (organization_id, portal_id, origin_id) values (organization, portal, c.origin->>'lead_id')
    on conflict do nothing;
    if not found then
        return;
    end if;
    c.organization_id := organization;
    c.tenant_id := tenant;
    c.id := new_id;
    c.created_at := new_at;
    c.updated_at := new_at;
    c.created_by := portal;
    c.updated_by := portal;
    c.phone_at := now();
    loop -- until the lead with this phone is locked or made
        select x.* into before from neoapi.lead x
        where x.organization_id = organization and neoapi.whatsapp_phone_key(x.phone) = neoapi.whatsapp_phone_key(c.phone)
        for no key update;
        exit when found;
        insert into neoapi.lead as x select c.* on conflict do nothing returning x.* into l;
        exit when found;
    end loop;
    if l.id is null then
        l := neoapi.lead_after_contact(before, c, at);
        update neoapi.lead x
        set message = l.message, origin = l.origin, property_id = l.property_id, metadata = l.metadata, email = l.email,
            broker_id = l.broker_id, assigned_by = l.assigned_by, received_at = l.received_at, status = l.status, lost_reason = l.lost_reason,
            updated_at = greatest(at, x.updated_at + interval '1 millisecond'), updated_by = portal
        where x.organization_id = organization and x.id = before.id and to_jsonb(l) <> to_jsonb(before) returning x.* into l;
    end if;
    update neoapi.lead_origin o set lead_id = coalesce(before.id, new_id)
    where o.organization_id = organization and o.portal_id = portal and o.origin_id = c.origin->>'lead_id';
    if l.id is null then
        return;
    end if;
    insert into neoapi.reference as r (organization_id, source_id, path, target_id)
    select organization, l.id, k.path, k.id
    from (values ('property_id', l.property_id), ('broker_id', l.broker_id)) k (path, id) where k.id is not null
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id
    where r.target_id <> excluded.target_id;
    body := l.representation;
    deliveries := neoapi.add_event(organization, case when before.id is null then 'lead.created' else 'lead.updated' end, l.id, body,
                                   portal, request, before.representation);
end $$;
