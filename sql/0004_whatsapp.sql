-- SPDX-License-Identifier: Apache-2.0
-- Creates the tables of WhatsApp (numbers, leads, conversations, messages, opt-outs, identities), and the functions that send,
-- receive, import and export.
--
-- The runtime role has no privileges on these tables, except to write leads, to look up a number by the provider's id and to read
-- conversations and messages. It calls the security definer functions. Administrators create numbers with neoapictl.

-- A phone number for comparisons, without the digit that WhatsApp may omit: Brazil's ninth digit, the 1 after Mexico's country
-- code, and the 9 after Argentina's. Must agree with neo_phone_key in src/resources/lead.c.
create function neoapi.whatsapp_phone_key(wa_id text) returns text
    language sql immutable strict parallel safe
    return case when wa_id ~ '^55[1-9][1-9]9[6-9][0-9]{7}$' then left(wa_id, 4) || right(wa_id, 8)
                when wa_id ~ '^(521|549)[0-9]{10}$' then left(wa_id, 2) || right(wa_id, 10)
                else wa_id end;

-- A message's status is only replaced by one of higher rank, because the provider reports statuses in any order. Only a message
-- that was not rejected can be delivered, so delivered outranks failed.
create function neoapi.whatsapp_status_rank(status text) returns int
    language sql immutable strict parallel safe
    return array_position(array['pending', 'accepted', 'sent', 'failed', 'delivered', 'read'], status);

-- ---------------------------------------------------------------- numbers and leads

-- The secrets are encrypted with the deployment's key; the id is the additional authenticated data. phone_number_id is unique
-- across organizations, because the provider's callbacks name nothing else.
create table neoapi.whatsapp_number (
    organization_id      text collate "C" not null references neoapi.organization (id),
    id                   text collate "C" not null check (id like 'wan\_%' and octet_length(id) = 30),
    phone_number_id      text collate "C" not null check (phone_number_id ~ '^[0-9]{5,20}$'),
    waba_id              text collate "C" not null check (waba_id ~ '^[0-9]{5,20}$'),
    display_phone_number text not null check (length(display_phone_number) between 1 and 200),
    access_token         text not null,
    app_secret           text not null,
    verify_token_hash    bytea not null check (length(verify_token_hash) = 32),
    created_at           timestamptz not null default now(),
    refused_at           timestamptz, -- when the provider last refused all messages; null since it accepted one
    refusal              text,
    is_busy              boolean not null default false, -- the provider accepts messages again without a change here
    verified_name        text, -- as the provider reported these at reported_at
    quality_rating       text,
    messaging_limit      text,
    reported_at          timestamptz,
    primary key (organization_id, id)
);
create unique index whatsapp_number_phone_number_id_key on neoapi.whatsapp_number (phone_number_id);
create index whatsapp_number_waba_id on neoapi.whatsapp_number (waba_id);
create index whatsapp_number_verify_token on neoapi.whatsapp_number (verify_token_hash);

-- phone is unique by its key. At least one of phone, whatsapp_user_id and email is set (see src/resources/lead.c).
create table neoapi.lead (
    organization_id  text collate "C" not null,
    id               text collate "C" not null check (id like 'led\_%' and octet_length(id) = 30),
    tenant_id        text collate "C" not null,
    name             text not null,
    phone            text collate "C" check (phone ~ '^[1-9][0-9]{7,14}$'),
    whatsapp_user_id text collate "C",
    email            text,
    message          text,
    source           text not null,
    origin           json,
    property_id      text collate "C",
    party_id         text collate "C",
    broker_id        text collate "C",
    assigned_by      text, -- rule or hand
    status           text not null,
    lost_reason      text,
    consent          json,
    received_at      timestamptz,
    merged_lead_ids  json,
    external_id      text collate "C",
    metadata         json,
    created_at       timestamptz not null,
    updated_at       timestamptz not null,
    created_by       text collate "C" not null,
    updated_by       text collate "C" not null,
    phone_at         timestamptz not null default now(), -- since when the lead has this phone
    representation   text not null,
    primary key (organization_id, id)
);
create unique index lead_phone_key on neoapi.lead (organization_id, neoapi.whatsapp_phone_key(phone));
create unique index lead_external_id_key on neoapi.lead (organization_id, external_id) where external_id is not null;
create index lead_status on neoapi.lead (organization_id, status, id);
create index lead_source on neoapi.lead (organization_id, source, id);
create index lead_whatsapp_user_id on neoapi.lead (organization_id, whatsapp_user_id, id) where whatsapp_user_id is not null;
create index lead_email on neoapi.lead (organization_id, lower(email), id) where email is not null;
create index lead_property_id on neoapi.lead (organization_id, property_id, id) where property_id is not null;
create index lead_party_id on neoapi.lead (organization_id, party_id, id) where party_id is not null;
create index lead_broker_id on neoapi.lead (organization_id, broker_id, id) where broker_id is not null;
create index lead_updated_at on neoapi.lead (organization_id, updated_at, id);
create index lead_q on neoapi.lead using gin (organization_id, neoapi.folded(name) gin_trgm_ops);
alter index neoapi.lead_q alter column 2 set statistics 500;

grant select, insert, update, delete on neoapi.lead to :runtime;

create function neoapi.lead_set_phone_at() returns trigger language plpgsql as $$
begin
    new.phone_at := now();
    return new;
end $$;
create trigger set_phone_at before update on neoapi.lead
    for each row when (new.phone_at = old.phone_at and (neoapi.whatsapp_phone_key(new.phone) is distinct from neoapi.whatsapp_phone_key(old.phone)
                       or new.phone is null and new.whatsapp_user_id is distinct from old.whatsapp_user_id))
    execute function neoapi.lead_set_phone_at();

-- ---------------------------------------------------------------- the brokers of leads

-- The last turn of each broker, by its number. A new broker has number 0.
create table neoapi.lead_turn (
    organization_id text collate "C" not null,
    broker_id       text collate "C" not null,
    number          bigint not null default 0,
    primary key (organization_id, broker_id),
    foreign key (organization_id, broker_id) references neoapi.broker (organization_id, id) on delete cascade
);
create index lead_turn_number on neoapi.lead_turn (organization_id, number, broker_id);
create sequence neoapi.lead_turn_number_seq;
grant select, insert, update on neoapi.lead_turn to :runtime;
grant usage on sequence neoapi.lead_turn_number_seq to :runtime;

create function neoapi.lead_add_turns(organization text) returns void
    language sql volatile
    as $$
        insert into neoapi.lead_turn (organization_id, broker_id)
        select b.organization_id, b.id from neoapi.broker b
        where b.organization_id = organization and not exists (
            select from neoapi.lead_turn t where t.organization_id = b.organization_id and t.broker_id = b.id)
        order by b.id on conflict do nothing
    $$;

-- The brokers whose turns are next: one for each lead, or fewer, which repeat in this order; none if all are private. The broker whose
-- last turn is the longest ago comes first. A broker is left out if another transaction is giving it a lead, or has done so since the list
-- was read, which changes its number. If all are being given leads, nothing waits for them, because an import holds their rows until it
-- ends: a hash with `seed` decides. New brokers are looked for once in a round only, because that takes the longest.
create function neoapi.lead_next_brokers(organization text, leads int, seed text) returns text[]
    language plpgsql volatile as $$
declare
    candidate record;
    chosen text[] := '{}';
begin
    for attempt in 1..2 loop
        for candidate in
            select t.broker_id, t.number from neoapi.lead_turn t
            join neoapi.broker b on b.organization_id = t.organization_id and b.id = t.broker_id
            where t.organization_id = organization and b.visibility <> 'private'
            order by t.number, t.broker_id
        loop
            exit when cardinality(chosen) = leads;
            perform from neoapi.lead_turn t
            where t.organization_id = organization and t.broker_id = candidate.broker_id and t.number = candidate.number
            for no key update skip locked;
            chosen := case when found then chosen || candidate.broker_id else chosen end;
        end loop;
        exit when chosen <> '{}';
        perform neoapi.lead_add_turns(organization);
    end loop;
    if chosen = '{}' then
        return array(select b.id from neoapi.broker b where b.organization_id = organization and b.visibility <> 'private'
                     order by hashtextextended(b.id || seed, 0));
    end if;
    for i in 0..cardinality(chosen) - 1 loop -- the last lead's broker has the greatest number
        update neoapi.lead_turn t set number = nextval('neoapi.lead_turn_number_seq')
        where t.organization_id = organization and t.broker_id = chosen[(leads + i) % cardinality(chosen) + 1];
    end loop;
    if (select min(t.broker_id) from neoapi.lead_turn t where t.organization_id = organization) = any (chosen) then
        perform neoapi.lead_add_turns(organization);
    end if;
    return chosen;
end $$;

-- The broker of a lead that comes without one, by the organization's rule; null if that gives none. The property is locked, so that its
-- broker is not deleted before the lead refers to it.
create function neoapi.lead_choose_broker(organization text, property text, lead text) returns text
    language plpgsql volatile as $$
declare
    rule constant text := (select o.lead_assignment from neoapi.organization o where o.id = organization);
    chosen text;
begin
    if coalesce(rule, 'none') = 'none' then
        return null;
    end if;
    select p.broker_id into chosen from neoapi.property p where p.organization_id = organization and p.id = property for share;
    return case when chosen is null and rule = 'turn' then (neoapi.lead_next_brokers(organization, 1, lead))[1] else chosen end;
end $$;

-- Imported rows have neoapi.is_import set (see src/sql/write.c): they stay as they are. The names of the triggers sort before that of
-- the trigger that sets the representation.
create function neoapi.lead_assign() returns trigger language plpgsql as $$
begin
    if new.broker_id is not null then
        new.assigned_by := 'hand';
    elsif tg_op = 'INSERT' then
        new.broker_id := neoapi.lead_choose_broker(new.organization_id, new.property_id, new.id);
        new.assigned_by := case when new.broker_id is not null then 'rule' end;
    else
        new.assigned_by := null;
    end if;
    return new;
end $$;
create trigger assign before insert on neoapi.lead
    for each row when (new.assigned_by is null and current_setting('neoapi.is_import', true) is distinct from 'on')
    execute function neoapi.lead_assign();
create trigger assign_in_update before update on neoapi.lead
    for each row when (new.broker_id is distinct from old.broker_id and new.assigned_by is not distinct from old.assigned_by
                       and current_setting('neoapi.is_import', true) is distinct from 'on')
    execute function neoapi.lead_assign();

create function neoapi.lead_refer_to_broker() returns trigger language plpgsql as $$
begin
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    values (new.organization_id, new.id, 'broker_id', new.broker_id);
    return null;
end $$;
create trigger refer_to_broker after insert on neoapi.lead
    for each row when (new.assigned_by = 'rule' and current_setting('neoapi.is_import', true) is distinct from 'on')
    execute function neoapi.lead_refer_to_broker();

-- ---------------------------------------------------------------- conversations and messages

-- The contact's ids, name, lead and preference are derived from neoapi.whatsapp_identity (see whatsapp_refresh).
create table neoapi.whatsapp_conversation (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id like 'wac\_%' and octet_length(id) = 30),
    number_id       text collate "C" not null,
    contact_wa_id   text collate "C",
    contact_bsuid   text collate "C", -- the provider's business-scoped user id
    contact_name    text,
    triage          text not null check (triage in ('pending', 'assigned', 'dismissed')),
    triage_at       timestamptz, -- when a client set it; null: the service does
    lead_id         text collate "C",
    broker_id       text collate "C", -- the broker that a client has assigned it to
    last_inbound_at timestamptz,
    unread_count    int not null default 0,
    last_read_at    timestamptz,
    opted_out_at    timestamptz,
    preference_at   timestamptz, -- when the contact last sent stop or resume
    imported_stop_from timestamptz, -- of an imported opt-out: its first stop and its last
    imported_stop_last timestamptz,
    recorded_stop_at timestamptz, -- when the contact opted out elsewhere, as a client has recorded
    held            boolean not null default false,
    is_provisional  boolean not null default false, -- no response has reported it; hidden unless the contact opted out
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    primary key (organization_id, id),
    foreign key (organization_id, number_id) references neoapi.whatsapp_number (organization_id, id),
    foreign key (organization_id, lead_id) references neoapi.lead (organization_id, id),
    foreign key (organization_id, broker_id) references neoapi.broker (organization_id, id) on delete set null (broker_id)
);
create index whatsapp_conversation_wa_id
    on neoapi.whatsapp_conversation (organization_id, number_id, neoapi.whatsapp_phone_key(contact_wa_id))
    where contact_wa_id is not null;
create index whatsapp_conversation_bsuid
    on neoapi.whatsapp_conversation (organization_id, number_id, contact_bsuid) where contact_bsuid is not null;
create index whatsapp_conversation_lead on neoapi.whatsapp_conversation (organization_id, lead_id, number_id)
    where lead_id is not null;
-- For the filters of lists.
create index whatsapp_conversation_unread on neoapi.whatsapp_conversation (organization_id, (unread_count > 0), id);
create index whatsapp_conversation_last_inbound on neoapi.whatsapp_conversation (organization_id, last_inbound_at);
create index whatsapp_conversation_assigned on neoapi.whatsapp_conversation (organization_id, (broker_id is not null), id);
create index whatsapp_conversation_broker on neoapi.whatsapp_conversation (organization_id, broker_id, id) where broker_id is not null;
create index whatsapp_conversation_q on neoapi.whatsapp_conversation using gin (
    organization_id, neoapi.folded(coalesce(contact_name, '') || ' ' || coalesce(contact_wa_id, '')) gin_trgm_ops);
alter index neoapi.whatsapp_conversation_q alter column 2 set statistics 500;

create table neoapi.whatsapp_message (
    organization_id      text collate "C" not null,
    id                   text collate "C" not null check (id like 'wam\_%' and octet_length(id) = 30),
    conversation_id      text collate "C" not null,
    direction            text not null check (direction in ('inbound', 'outbound')),
    source               text not null check (source in ('webhook', 'api', 'device')),
    identity_id          bigint, -- of neoapi.whatsapp_identity: the sender, or the lead; decides about conversation_id
    recipient_wa_id      text collate "C", -- whom it was sent to
    recipient_bsuid      text collate "C",
    provider_message_id  text collate "C",
    refers_to            text collate "C", -- of an edit or a revocation: the message's provider_message_id
    reply_to             text collate "C", -- of a reply or a reaction: the message's provider_message_id
    type                 text not null,
    is_group             boolean not null default false,
    body                 text,
    edited_at            timestamptz,
    revoked_at           timestamptz,
    template_name        text,
    template_language    text,
    media_mime_type      text,
    media_filename       text,
    media_id             text collate "C", -- of a contact's attachment at the provider, which keeps it; it is not stored here
    media_url            text, -- of an attachment that was sent
    has_media            boolean not null default false,
    status               text not null
                         check (status in ('received', 'pending', 'accepted', 'sent', 'delivered', 'read', 'failed')),
    status_at            timestamptz not null,
    error_code           int,
    error_title          text,
    pricing              json, -- how the provider bills it; always written in the same form
    actor_id             text collate "C",
    actor_type           text check (actor_type in ('user', 'api_key', 'system')),
    occurred_at          timestamptz not null,
    created_conversation boolean not null default false, -- by the request that sent it
    is_history           boolean, -- of the history of the business's telephone: never unread
    primary key (organization_id, id),
    foreign key (organization_id, conversation_id) references neoapi.whatsapp_conversation (organization_id, id)
);
create unique index whatsapp_message_provider_message_id_key
    on neoapi.whatsapp_message (organization_id, provider_message_id) where provider_message_id is not null;
create index whatsapp_message_refers_to on neoapi.whatsapp_message (refers_to) where refers_to is not null;
create index whatsapp_message_pending on neoapi.whatsapp_message (organization_id, occurred_at) where status = 'pending';
create index whatsapp_message_page on neoapi.whatsapp_message (organization_id, conversation_id, id) where refers_to is null;
create index whatsapp_message_conversation on neoapi.whatsapp_message (organization_id, conversation_id, occurred_at, id);
-- Not partial, because PostgreSQL estimates how frequent a text is only with the statistics of an index without a condition.
create index whatsapp_message_q on neoapi.whatsapp_message using gin (organization_id, neoapi.folded(body) gin_trgm_ops);
alter index neoapi.whatsapp_message_q alter column 2 set statistics 500;

-- The statuses that the provider has reported, each once. A status can arrive before the message has its provider_message_id.
create table neoapi.whatsapp_status (
    organization_id     text collate "C" not null,
    provider_message_id text collate "C" not null,
    status              text not null check (status in ('sent', 'delivered', 'read', 'failed')),
    occurred_at         timestamptz not null,
    error_code          int,
    error_title         text,
    pricing             json,
    contact_wa_id       text collate "C",
    contact_bsuid       text collate "C",
    primary key (organization_id, provider_message_id, status)
);

-- The pricing of a message: that of its latest status that has one, whatever the order in which they arrive.
create function neoapi.whatsapp_status_pricing(organization text, provider_id text) returns json
    language sql stable
    as $$
        select s.pricing from neoapi.whatsapp_status s
        where s.organization_id = organization and s.provider_message_id = provider_id and s.pricing is not null
        order by neoapi.whatsapp_status_rank(s.status) desc limit 1
    $$;

grant select (organization_id, id, phone_number_id, waba_id, app_secret, verify_token_hash) on neoapi.whatsapp_number to :runtime;

-- ---------------------------------------------------------------- opt-outs

-- Contacts that have sent stop, and to which number. A conversation stores this for its contact; this table also holds for
-- contacts without a conversation, after an import. If the organization does not have the number, the opt-out counts for all
-- its numbers: a number that got a new id must not be a way to write to the contact again.
create table neoapi.whatsapp_opt_out (
    organization_id text collate "C" not null references neoapi.organization (id),
    id              text collate "C" not null check (id like 'wao\_%' and octet_length(id) = 30),
    phone_number_id text collate "C" check (phone_number_id ~ '^[0-9]{5,20}$'), -- null: all numbers
    contact_phone   text collate "C", -- the contact's wa_id
    contact_bsuid   text collate "C",
    lead_id         text collate "C", -- the contact's number can differ from the lead's
    opted_out_at    timestamptz not null,
    preference_at   timestamptz, -- when stop was last repeated
    representation  text not null, -- as neoapictl exports it
    primary key (organization_id, id),
    foreign key (organization_id, lead_id) references neoapi.lead (organization_id, id) on delete set null (lead_id),
    check (contact_phone is not null or contact_bsuid is not null)
);
create index whatsapp_opt_out_phone on neoapi.whatsapp_opt_out (organization_id, neoapi.whatsapp_phone_key(contact_phone));
create index whatsapp_opt_out_bsuid on neoapi.whatsapp_opt_out (organization_id, contact_bsuid);
create index whatsapp_opt_out_lead on neoapi.whatsapp_opt_out (organization_id, lead_id);

-- Whether the opt-out is of the conversation's contact.
create function neoapi.whatsapp_opt_out_matches(o neoapi.whatsapp_opt_out, c neoapi.whatsapp_conversation) returns boolean
    language sql immutable parallel safe
    return neoapi.whatsapp_phone_key((o).contact_phone) = neoapi.whatsapp_phone_key((c).contact_wa_id)
        or (o).contact_bsuid = (c).contact_bsuid or (o).lead_id = (c).lead_id;

-- The latest opt-out that counts for a conversation and is not its own, or null.
create function neoapi.whatsapp_latest_opt_out(c neoapi.whatsapp_conversation) returns neoapi.whatsapp_opt_out
    language sql stable
    as $$
        select o from neoapi.whatsapp_opt_out o
        where o.organization_id = c.organization_id and neoapi.whatsapp_opt_out_matches(o, c)
          and o.id <> 'wao_' || right(c.id, 26)
          and not exists (
              select from neoapi.whatsapp_number n
              where n.organization_id = c.organization_id and n.phone_number_id = o.phone_number_id and n.id <> c.number_id)
        order by greatest(o.preference_at, o.opted_out_at) desc limit 1
    $$;

-- Replaces the contact's older opt-outs by the conversation's own. A resume deletes them. Opt-outs of other conversations with the
-- same lead remain. An opt-out outlives its conversation.
create function neoapi.whatsapp_sync_opt_out() returns trigger language plpgsql as $$
declare
    c neoapi.whatsapp_conversation := new;
    number text := (select n.phone_number_id from neoapi.whatsapp_number n
                    where n.organization_id = new.organization_id and n.id = new.number_id);
begin
    if tg_op = 'UPDATE' then
        c := old;
    end if;
    delete from neoapi.whatsapp_opt_out o
    where o.organization_id = c.organization_id and o.phone_number_id = number and neoapi.whatsapp_opt_out_matches(o, c)
      and greatest(o.preference_at, o.opted_out_at) <= greatest(new.preference_at, new.opted_out_at, c.preference_at, c.opted_out_at)
      and not exists (
          select from neoapi.whatsapp_conversation x
          where x.organization_id = c.organization_id and x.id = 'wac_' || right(o.id, 26) and x.id <> c.id
            and x.opted_out_at is not null);
    if new.opted_out_at is not null then
        insert into neoapi.whatsapp_opt_out
            (organization_id, id, phone_number_id, contact_phone, contact_bsuid, lead_id, opted_out_at, preference_at)
        select new.organization_id, 'wao_' || right(new.id, 26), number, new.contact_wa_id, new.contact_bsuid, new.lead_id,
               new.opted_out_at, nullif(new.preference_at, new.opted_out_at)
        where new.contact_wa_id is not null or new.contact_bsuid is not null
        on conflict do nothing; -- a later one exists
    end if;
    return null;
end $$;
create trigger sync_opt_out_on_insert after insert on neoapi.whatsapp_conversation
    for each row when (new.opted_out_at is not null) execute function neoapi.whatsapp_sync_opt_out();
create trigger sync_opt_out_on_update after update on neoapi.whatsapp_conversation for each row
    when ((old.opted_out_at, old.preference_at, old.contact_wa_id, old.contact_bsuid, old.lead_id)
          is distinct from (new.opted_out_at, new.preference_at, new.contact_wa_id, new.contact_bsuid, new.lead_id)
          and (old.opted_out_at is not null or new.opted_out_at is not null
               or old.preference_at is distinct from new.preference_at)) -- a resume after an imported opt-out
    execute function neoapi.whatsapp_sync_opt_out();

-- Ignores an imported opt-out if a conversation has the same preference or a later one: the contact may have sent resume since.
-- Each of the contact's ids is a query of its own, because PostgreSQL then uses its index whatever the table's statistics are.
create function neoapi.whatsapp_ignore_outdated_opt_out() returns trigger language plpgsql as $$
declare
    number text := (select n.id from neoapi.whatsapp_number n
                    where n.organization_id = new.organization_id and n.phone_number_id = new.phone_number_id);
    latest timestamptz := greatest(
        (select max(c.preference_at) from neoapi.whatsapp_conversation c
         where c.organization_id = new.organization_id and c.number_id = number
           and neoapi.whatsapp_phone_key(c.contact_wa_id) = neoapi.whatsapp_phone_key(new.contact_phone)),
        (select max(c.preference_at) from neoapi.whatsapp_conversation c
         where c.organization_id = new.organization_id and c.number_id = number and c.contact_bsuid = new.contact_bsuid),
        (select max(c.preference_at) from neoapi.whatsapp_conversation c
         where c.organization_id = new.organization_id and c.number_id = number and c.lead_id = new.lead_id));
begin
    return case when latest >= greatest(new.preference_at, new.opted_out_at) then null else new end;
end $$;
-- pg_trigger_depth() is 0 for an import; whatsapp_sync_opt_out inserts at depth 1.
create trigger ignore_outdated_opt_out before insert on neoapi.whatsapp_opt_out
    for each row when (pg_trigger_depth() = 0) execute function neoapi.whatsapp_ignore_outdated_opt_out();

-- ---------------------------------------------------------------- conversations and messages as JSON

-- neoapictl makes whatsapp_conversation_json(row) and whatsapp_message_json(row) from the tables of fields in src/resources, after
-- the migrations (see src/sql/representation.c). Functions that call them are in PL/pgSQL, which looks them up when it executes.

-- The response to a request that sends a message: its current state; if the request starts a conversation, also that of this.
create function neoapi.whatsapp_response(organization text, message text, is_start boolean) returns text
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return (select case when is_start then '{"conversation":' || neoapi.whatsapp_conversation_json(c) || ',"message":'
                       || neoapi.whatsapp_message_json(m) || ',"created":' || m.created_conversation || '}'
                   else neoapi.whatsapp_message_json(m) end
            from neoapi.whatsapp_message m
            join neoapi.whatsapp_conversation c on c.organization_id = m.organization_id and c.id = m.conversation_id
            where m.organization_id = organization and m.id = message);
end $$;

revoke execute on function neoapi.whatsapp_response from public;
grant execute on function neoapi.whatsapp_response to :runtime;

-- What lists and reads need; the rows have no secrets.
grant select on neoapi.whatsapp_conversation, neoapi.whatsapp_message to :runtime;
grant select (display_phone_number) on neoapi.whatsapp_number to :runtime;

-- ---------------------------------------------------------------- identities

-- The identities decide to which contact a message belongs.
--
-- doc/whatsapp.md explains the rules. In short: a phone belongs to one contact at a time, a change of number ends the period of the
-- old phone and begins one of the new phone, and a business-scoped user id always belongs to one contact. Rows that share a period,
-- an id or a link are one contact, which is one conversation per number. The rows have timestamps of their own, so that the order
-- in which they arrive does not matter.

create table neoapi.whatsapp_identity (
    organization_id text collate "C" not null,
    id              bigint generated always as identity,
    number_id       text collate "C" not null,
    conversation_id text collate "C" not null,
    source          text collate "C" not null, -- what reported it: the same report is stored once
    -- lead: an administrator gave a lead this phone; sent: a message was sent there; seen: the contact wrote; returned: the provider
    -- said that a message went there; left and joined: the contact left the phone, or has it since then
    kind            text not null check (kind in ('lead', 'sent', 'seen', 'returned', 'left', 'joined')),
    at              timestamptz not null,      -- in whole seconds, like the provider's timestamps
    wa_id           text collate "C",
    phone           text collate "C",          -- the key of wa_id
    bsuid           text collate "C",
    link            text collate "C",          -- rows with the same one are the same contact
    boundary        timestamptz,               -- of left and joined: when the phone's next period begins
    name            text,
    lead_id         text collate "C",
    preference      text check (preference in ('stop', 'resume')),
    preference_at   timestamptz,
    primary key (id),
    unique (source, number_id),
    foreign key (organization_id, conversation_id) references neoapi.whatsapp_conversation (organization_id, id) on delete cascade,
    foreign key (organization_id, lead_id) references neoapi.lead (organization_id, id) on delete set null (lead_id)
);
-- No index begins with organization_id: before the table is analyzed PostgreSQL would use any of them for that column alone, and
-- read all rows of the organization.
create index whatsapp_identity_phone on neoapi.whatsapp_identity (phone, number_id, at) where phone is not null;
create index whatsapp_identity_boundary on neoapi.whatsapp_identity (phone, number_id, boundary) where boundary is not null;
create index whatsapp_identity_bsuid on neoapi.whatsapp_identity (bsuid, number_id) where bsuid is not null;
create index whatsapp_identity_link on neoapi.whatsapp_identity (link, number_id) where link is not null;
create index whatsapp_identity_conversation on neoapi.whatsapp_identity (conversation_id, at);
create index whatsapp_identity_preference on neoapi.whatsapp_identity (conversation_id, preference, preference_at)
    where preference is not null;
create index whatsapp_identity_lead on neoapi.whatsapp_identity (conversation_id) where kind = 'lead';
create index whatsapp_identity_lead_id on neoapi.whatsapp_identity (lead_id) where lead_id is not null;

-- Decides which row counts if two have the same second: the one with the higher rank.
create function neoapi.whatsapp_identity_rank(kind text) returns int
    language sql immutable strict parallel safe
    return array_position(array['lead', 'sent', 'seen', 'returned', 'left', 'joined'], kind);

-- Locks the numbers until the end of the transaction: their identities and conversations are changed by one transaction at a time.
create function neoapi.whatsapp_lock_numbers(numbers text[]) returns void
    language sql volatile
    as $$
        select pg_advisory_xact_lock(hashtext('neoapi.whatsapp_number'), n.slot)
        from (select distinct hashtext(u) as slot from unnest(numbers) u order by 1) n
    $$;

-- The period of a phone that contains the moment: [since, until).
create function neoapi.whatsapp_phone_period(organization text, number text, key text, moment timestamptz,
                                       out since timestamptz, out until timestamptz)
    language sql stable
    as $$
        select coalesce((select max(i.boundary) from neoapi.whatsapp_identity i
                         where i.organization_id = organization and i.number_id = number and i.phone = key
                           and i.boundary <= moment), '-infinity'),
               coalesce((select min(i.boundary) from neoapi.whatsapp_identity i
                         where i.organization_id = organization and i.number_id = number and i.phone = key
                           and i.boundary > moment), 'infinity')
    $$;

-- The conversations of other rows with the same link, user id or period; without null. Each is looked up by a query of its own, because
-- PostgreSQL then uses its index whatever the table's statistics are.
create function neoapi.whatsapp_related_conversations(i neoapi.whatsapp_identity) returns text[]
    language plpgsql stable as $$
declare
    period record;
    by_link text;
    by_bsuid text;
    by_phone text;
begin
    if i.link is not null then
        select o.conversation_id into by_link from neoapi.whatsapp_identity o
        where o.organization_id = i.organization_id and o.number_id = i.number_id and o.link = i.link
          and o.id is distinct from i.id limit 1;
    end if;
    if i.bsuid is not null then
        select o.conversation_id into by_bsuid from neoapi.whatsapp_identity o
        where o.organization_id = i.organization_id and o.number_id = i.number_id and o.bsuid = i.bsuid
          and o.id is distinct from i.id limit 1;
    end if;
    if i.phone is not null then
        period := neoapi.whatsapp_phone_period(i.organization_id, i.number_id, i.phone, i.at);
        select o.conversation_id into by_phone from neoapi.whatsapp_identity o
        where o.organization_id = i.organization_id and o.number_id = i.number_id and o.phone = i.phone
          and o.at >= period.since and o.at < period.until and o.id is distinct from i.id limit 1;
    end if;
    return array_remove(array[by_link, by_bsuid, by_phone], null);
end $$;

-- Copies the latest opt-out that was imported for the conversation's contact into the conversation.
create function neoapi.whatsapp_copy_import(c neoapi.whatsapp_conversation) returns void
    language plpgsql volatile as $$
declare
    opt_out neoapi.whatsapp_opt_out := neoapi.whatsapp_latest_opt_out(c);
begin
    update neoapi.whatsapp_conversation x
    set imported_stop_from = opt_out.opted_out_at, imported_stop_last = greatest(opt_out.opted_out_at, opt_out.preference_at)
    where x.organization_id = c.organization_id and x.id = c.id
      and greatest(opt_out.opted_out_at, opt_out.preference_at) > coalesce(x.imported_stop_last, '-infinity');
end $$;

-- Returns since when the contact has opted out, which is its earliest stop after its last resume, and the time of its last stop or
-- resume. Only identities with ids up to `known` count; null: all.
create function neoapi.whatsapp_preference(c neoapi.whatsapp_conversation, known bigint, out opted_out_at timestamptz,
                                           out preference_at timestamptz)
    language sql stable
    as $$
        with sent as materialized (
            select i.preference, i.preference_at as at from neoapi.whatsapp_identity i
            where i.organization_id = c.organization_id and i.conversation_id = c.id and i.preference is not null
              and (known is null or i.id <= known)
            union all
            select 'stop', s from unnest(array[c.imported_stop_from, c.imported_stop_last, c.recorded_stop_at]) s),
        resumed as (select max(r.at) as at from sent r where r.preference = 'resume')
        select min(s.at), greatest(max(s.at), r.at)
        from resumed r left join sent s on s.preference = 'stop' and s.at >= coalesce(r.at, '-infinity') group by r.at
    $$;

-- The contact's state by its rows: the phone and the user id that it has now, its name and lead, and whether it has opted out.
create function neoapi.whatsapp_contact_state(c neoapi.whatsapp_conversation, out wa_id text, out bsuid text, out name text,
                                              out lead_id text, out opted_out_at timestamptz, out preference_at timestamptz)
    language plpgsql stable as $$
declare
    latest neoapi.whatsapp_identity;
begin
    -- A lead's phone counts only if the provider has reported none.
    for latest in
        select i.* from neoapi.whatsapp_identity i
        where i.organization_id = c.organization_id and i.conversation_id = c.id and i.phone is not null
          and not exists (select from neoapi.whatsapp_identity b
                          where b.organization_id = i.organization_id and b.number_id = i.number_id and b.phone = i.phone
                            and b.boundary > i.at)
        order by i.at desc, neoapi.whatsapp_identity_rank(i.kind) desc, i.wa_id desc
    loop
        wa_id := case when latest.kind = 'lead' then coalesce(wa_id, latest.wa_id) else latest.wa_id end;
        exit when latest.kind <> 'lead';
    end loop;
    select case when i.kind <> 'left' then i.bsuid end into bsuid from neoapi.whatsapp_identity i
    where i.organization_id = c.organization_id and i.conversation_id = c.id and (i.bsuid is not null or i.kind = 'left')
    order by i.at desc, neoapi.whatsapp_identity_rank(i.kind) desc, i.bsuid desc limit 1;
    select i.lead_id, i.name into lead_id, name from neoapi.whatsapp_identity i
    where i.organization_id = c.organization_id and i.conversation_id = c.id and i.kind = 'lead' and i.lead_id is not null
    order by i.at desc, i.lead_id desc limit 1;
    name := coalesce((select i.name from neoapi.whatsapp_identity i
                      where i.organization_id = c.organization_id and i.conversation_id = c.id and i.kind <> 'lead'
                        and i.name is not null
                      order by i.at desc, i.name desc limit 1), name);
    select p.opted_out_at, p.preference_at into opted_out_at, preference_at from neoapi.whatsapp_preference(c, null) p;
end $$;

-- Updates what a conversation stores of its contact's state.
create function neoapi.whatsapp_refresh(organization text, conversation text) returns void
    language plpgsql volatile as $$
declare
    c neoapi.whatsapp_conversation;
    s record;
begin
    for turn in 1..2 loop -- an opt-out is also imported for ids that only the new state has
        select x.* into c from neoapi.whatsapp_conversation x where x.organization_id = organization and x.id = conversation for update;
        perform neoapi.whatsapp_copy_import(c);
        select x.* into c from neoapi.whatsapp_conversation x where x.organization_id = organization and x.id = conversation;
        s := neoapi.whatsapp_contact_state(c);
        update neoapi.whatsapp_conversation x
        set contact_wa_id = s.wa_id, contact_bsuid = s.bsuid, contact_name = s.name, lead_id = coalesce(s.lead_id, x.lead_id),
            triage = case when s.lead_id is not null and x.triage = 'pending' and x.triage_at is null then 'assigned'
                          else x.triage end,
            opted_out_at = s.opted_out_at, preference_at = s.preference_at, updated_at = now()
        where x.organization_id = organization and x.id = conversation
          and (x.contact_wa_id, x.contact_bsuid, x.contact_name, x.lead_id, x.opted_out_at, x.preference_at)
              is distinct from (s.wa_id, s.bsuid, s.name, coalesce(s.lead_id, x.lead_id), s.opted_out_at, s.preference_at);
        exit when not found;
    end loop;
end $$;

-- Whether messages of the type are the contact's own new ones: they are unread, and open the window unless sent to a group.
create function neoapi.whatsapp_is_new_message(type text) returns boolean
    language sql immutable strict parallel safe
    return type <> all (array['system', 'edit', 'revoke']);

-- How many of the contact's messages are later than the last one that was read.
create function neoapi.whatsapp_unread_count(organization text, conversation text, last_read_at timestamptz) returns int
    language sql stable
    as $$
        select count(*)::int from neoapi.whatsapp_message m
        where m.organization_id = organization and m.conversation_id = conversation and m.direction = 'inbound'
          and neoapi.whatsapp_is_new_message(m.type) and m.is_history is not true
          and m.occurred_at > coalesce(last_read_at, '-infinity')
    $$;

-- Groups the identities of these conversations by contact. Returns for each contact its rows, their conversations, whether one of the
-- rows is a lead's, and whether the contact is known by more than what the provider returned for a message to somebody else. Rows
-- with the same period, user id and link are one unit: there are few units, whatever the number of rows.
create function neoapi.whatsapp_contacts_in(organization text, conversations text[])
    returns table (members bigint[], origins text[], has_lead boolean, is_contact boolean)
    language sql stable
    as $$
        with recursive unit as materialized (
            select row_number() over () as n, u.* from (
                select array_remove(array['phone ' || i.phone || ' ' || t.since, 'bsuid ' || i.bsuid, 'link ' || i.link], null) as nodes,
                       array_agg(i.id) as ids, array_agg(distinct i.conversation_id) as origins, bool_or(i.kind = 'lead') as has_lead,
                       bool_or(i.kind not in ('sent', 'returned')) as is_contact,
                       min(i.at) as first
                from neoapi.whatsapp_identity i
                left join lateral neoapi.whatsapp_phone_period(i.organization_id, i.number_id, i.phone, i.at) t on i.phone is not null
                where i.organization_id = organization and i.conversation_id = any (conversations)
                group by 1) u),
        reached (n, root) as (
            select u.n, u.n from unit u
            union
            select o.n, r.root from reached r join unit u on u.n = r.n join unit o on o.nodes && u.nodes),
        contact as (select r.n, min(r.root) as root from reached r group by r.n)
        select array_agg(distinct m.id), array_agg(distinct o.id), bool_or(u.has_lead), bool_or(u.is_contact)
        from contact k join unit u on u.n = k.n, unnest(u.ids) m (id), unnest(u.origins) o (id)
        group by k.root order by bool_or(u.is_contact) desc, bool_or(u.has_lead) desc, min(u.first), min(m.id)
    $$;

-- Moves the rows of one contact to one of their conversations that is not taken, preferably one from which messages were sent, because
-- clients know its id. If all are taken, moves them to a new one. The chosen conversation inherits from all of them.
create function neoapi.whatsapp_assign(organization text, members bigint[], origins text[], taken text[], has_lead boolean,
                                       split_id text) returns text
    language plpgsql volatile as $$
declare
    chosen text;
begin
    select c.id into chosen from neoapi.whatsapp_conversation c
    where c.organization_id = organization and c.id = any (origins) and c.id <> all (taken)
    order by exists (select from neoapi.whatsapp_message m where m.organization_id = organization and m.conversation_id = c.id
                     and m.direction = 'outbound') desc, c.created_at, c.id limit 1;
    if chosen is null and split_id is null then
        chosen := origins[1];
    elsif chosen is null then
        insert into neoapi.whatsapp_conversation (organization_id, id, number_id, triage, created_at, updated_at)
        select organization, split_id, c.number_id, 'pending', now(), now() from neoapi.whatsapp_conversation c
        where c.organization_id = organization and c.id = origins[1];
        chosen := split_id;
    end if;
    update neoapi.whatsapp_conversation c
    set lead_id = case when has_lead then c.lead_id end,
        triage = coalesce(o.triage, case when not has_lead and c.lead_id is not null then 'pending' else c.triage end),
        triage_at = o.triage_at, broker_id = coalesce(c.broker_id, o.broker_id), last_read_at = o.last_read_at, held = o.held, is_provisional = o.is_provisional,
        imported_stop_from = o.imported_stop_from, imported_stop_last = o.imported_stop_last, recorded_stop_at = o.recorded_stop_at,
        created_at = least(c.created_at, case when chosen <> split_id then o.created_at end)
    from (select (array_agg(x.triage order by x.triage_at desc) filter (where x.triage_at is not null))[1] as triage,
                 max(x.triage_at) as triage_at,
                 (array_agg(x.broker_id order by x.updated_at desc, x.id) filter (where x.broker_id is not null))[1] as broker_id,
                 max(x.last_read_at) as last_read_at, bool_or(x.held) as held, bool_and(x.is_provisional) as is_provisional,
                 min(x.imported_stop_from) as imported_stop_from, max(x.imported_stop_last) as imported_stop_last,
                 max(x.recorded_stop_at) as recorded_stop_at, min(x.created_at) as created_at
          from neoapi.whatsapp_conversation x where x.organization_id = organization and x.id = any (origins)) o
    where c.organization_id = organization and c.id = chosen;
    update neoapi.whatsapp_identity i set conversation_id = chosen
    where i.organization_id = organization and i.id = any (members) and i.conversation_id <> chosen;
    return chosen;
end $$;

-- Merges and splits conversations so that each has the rows and messages of one contact. `split_id` is the id for a new conversation;
-- one is enough, because a boundary splits only one contact.
create function neoapi.whatsapp_regroup(organization text, conversations text[], split_id text) returns void
    language plpgsql volatile as $$
declare
    contact record;
    taken text[] := '{}';
    one text;
begin
    perform from neoapi.whatsapp_conversation c
    where c.organization_id = organization and c.id = any (conversations) order by c.id for update;
    perform neoapi.whatsapp_copy_import(c) from neoapi.whatsapp_conversation c
    where c.organization_id = organization and c.id = any (conversations);
    for contact in select * from neoapi.whatsapp_contacts_in(organization, conversations) loop
        if not contact.is_contact then
            delete from neoapi.whatsapp_identity i where i.organization_id = organization and i.id = any (contact.members);
            continue;
        end if;
        taken := taken || neoapi.whatsapp_assign(organization, contact.members, contact.origins, taken, contact.has_lead, split_id);
    end loop;
    update neoapi.whatsapp_message m
    set conversation_id = coalesce((select i.conversation_id from neoapi.whatsapp_identity i
                                    where i.organization_id = organization and i.id = m.identity_id), taken[1])
    where m.organization_id = organization and m.conversation_id = any (conversations);
    -- The opt-outs that were derived from the former contacts are derived again.
    delete from neoapi.whatsapp_opt_out o
    where o.organization_id = organization and o.id in (select 'wao_' || right(c, 26) from unnest(conversations) c);
    delete from neoapi.whatsapp_conversation c
    where c.organization_id = organization and c.id = any (conversations) and c.id <> all (taken);
    update neoapi.whatsapp_conversation c
    set opted_out_at = null, preference_at = null, unread_count = neoapi.whatsapp_unread_count(organization, c.id, c.last_read_at),
        last_inbound_at = m.last, updated_at = now()
    from unnest(taken) t (id) cross join lateral (
        select max(x.occurred_at) as last from neoapi.whatsapp_message x
        where x.organization_id = organization and x.conversation_id = t.id and not x.is_group and x.direction = 'inbound'
          and neoapi.whatsapp_is_new_message(x.type)) m
    where c.organization_id = organization and c.id = t.id;
    foreach one in array taken loop
        perform neoapi.whatsapp_refresh(organization, one);
    end loop;
end $$;

-- Inserts a contact's first conversation. The lead with its phone, if any, is stored as an identity of its own.
create function neoapi.whatsapp_new_conversation(i neoapi.whatsapp_identity, new_id text) returns void
    language plpgsql volatile as $$
declare
    lead neoapi.lead;
begin
    insert into neoapi.whatsapp_conversation (organization_id, id, number_id, triage, created_at, updated_at)
    values (i.organization_id, new_id, i.number_id, 'pending', now(), now());
    select l.* into lead from neoapi.lead l
    where l.organization_id = i.organization_id and neoapi.whatsapp_phone_key(l.phone) = i.phone and i.kind <> 'lead';
    if found and (neoapi.whatsapp_phone_period(i.organization_id, i.number_id, i.phone, date_trunc('second', lead.phone_at))).since
               = (neoapi.whatsapp_phone_period(i.organization_id, i.number_id, i.phone, i.at)).since then
        perform neoapi.whatsapp_add_identity(neoapi.whatsapp_lead_identity(lead, i.number_id), new_id, null);
    end if;
end $$;

-- The identity of a lead with its phone; without one, with its business-scoped user id.
create function neoapi.whatsapp_lead_identity(lead neoapi.lead, number text) returns neoapi.whatsapp_identity
    language sql stable
    return json_populate_record(null::neoapi.whatsapp_identity, json_build_object(
        'organization_id', (lead).organization_id, 'number_id', number, 'kind', 'lead', 'lead_id', (lead).id, 'name', (lead).name,
        'source', concat_ws(' ', 'lead', (lead).id, coalesce((lead).phone, (lead).whatsapp_user_id),
                            extract(epoch from (lead).phone_at)),
        'wa_id', (lead).phone, 'bsuid', case when (lead).phone is null then (lead).whatsapp_user_id end,
        'at', date_trunc('second', (lead).phone_at)));

-- Stores an identity, unless it exists, and returns its row with the conversation, which is locked. The caller has
-- locked the number. `new_id` and `split_id` are ids for new conversations; only left and joined can need split_id. If there is a
-- new conversation, or the contact has changed, the caller must call whatsapp_refresh.
create function neoapi.whatsapp_add_identity(i neoapi.whatsapp_identity, new_id text, split_id text) returns neoapi.whatsapp_identity
    language plpgsql volatile as $$
declare
    known neoapi.whatsapp_identity;
    holders text[];
    is_split boolean := false;
begin
    i.phone := neoapi.whatsapp_phone_key(i.wa_id);
    i.boundary := case when i.phone is not null then
        case i.kind when 'left' then i.at + interval '1 second' when 'joined' then i.at end end;
    loop -- until the conversation is locked: neoapictl can remove it
        select o.* into known from neoapi.whatsapp_identity o
        where o.organization_id = i.organization_id and o.number_id = i.number_id and o.source = i.source;
        holders := case when known.id is null then neoapi.whatsapp_related_conversations(i) else array[known.conversation_id] end;
        exit when cardinality(holders) = 0;
        perform from neoapi.whatsapp_conversation c where c.organization_id = i.organization_id and c.id = holders[1] for update;
        exit when found;
    end loop;
    if known.id is not null then
        return known;
    end if;
    i.conversation_id := coalesce(holders[1], new_id);
    if cardinality(holders) = 0 and not exists (select from neoapi.whatsapp_conversation c
            where c.organization_id = i.organization_id and c.id = new_id) then
        perform neoapi.whatsapp_new_conversation(i, new_id);
    end if;
    i.id := nextval('neoapi.whatsapp_identity_id_seq');
    insert into neoapi.whatsapp_identity overriding system value select i.*;
    if i.boundary is not null then -- does it separate stored identities?
        is_split := exists (select from neoapi.whatsapp_identity o
            where o.organization_id = i.organization_id and o.number_id = i.number_id and o.phone = i.phone and o.id <> i.id
              and case i.kind when 'left' then o.at >= i.boundary else o.at < i.boundary end);
        holders := neoapi.whatsapp_related_conversations(i) || array(select distinct o.conversation_id from neoapi.whatsapp_identity o
            where o.organization_id = i.organization_id and o.number_id = i.number_id and o.phone = i.phone);
    end if;
    if is_split or i.conversation_id <> any (holders) then
        perform neoapi.whatsapp_regroup(i.organization_id, array(select distinct h from unnest(holders || i.conversation_id) h), split_id);
        select o.conversation_id into i.conversation_id from neoapi.whatsapp_identity o
        where o.organization_id = i.organization_id and o.id = i.id;
    end if;
    return i;
end $$;

-- Stores that a message went to this contact, as the provider says; optionally that the contact had sent stop.
create function neoapi.whatsapp_add_recipient(m neoapi.whatsapp_message, number text, wa_id text, bsuid text, stopped_at timestamptz)
    returns void
    language plpgsql volatile as $$
declare
    i neoapi.whatsapp_identity;
begin
    i.organization_id := m.organization_id;
    i.number_id := number;
    i.at := date_trunc('second', m.occurred_at);
    if stopped_at is null and coalesce(wa_id = m.recipient_wa_id, wa_id is null) and (bsuid is null or exists (
            select from neoapi.whatsapp_identity o where o.organization_id = m.organization_id and o.number_id = number
            and o.bsuid = whatsapp_add_recipient.bsuid and o.conversation_id = m.conversation_id)) then
        return; -- nothing new
    end if;
    i.link := m.id;
    i.source := 'sent ' || m.id;
    i.kind := 'sent';
    i.wa_id := m.recipient_wa_id;
    i.phone := neoapi.whatsapp_phone_key(i.wa_id);
    i.bsuid := m.recipient_bsuid;
    if cardinality(neoapi.whatsapp_related_conversations(i)) = 0 then
        return; -- another contact has the phone since, from whom nothing is known
    end if;
    perform neoapi.whatsapp_add_identity(i, m.conversation_id, null);
    i.source := concat_ws(' ', 'recipient', m.id, wa_id, bsuid, extract(epoch from stopped_at));
    i.kind := 'returned';
    i.wa_id := wa_id;
    i.bsuid := bsuid;
    i.preference := case when stopped_at is not null then 'stop' end;
    i.preference_at := stopped_at;
    i := neoapi.whatsapp_add_identity(i, m.conversation_id, null);
    perform neoapi.whatsapp_refresh(i.organization_id, i.conversation_id);
end $$;

-- ---------------------------------------------------------------- sending

-- The functions record a message before the provider is called, and the outcome after.
--
-- All functions lock in this order: the number (whatsapp_lock_numbers), conversations, messages.

-- Inserts a pending message to a lead, or into the conversation `target`, and the idempotency key unless it is null. `content` is
-- the body of the request. Until whatsapp_finish the key's response_body is the message's id. Returns one row: what the provider's
-- API needs, or a refusal, after which nothing is inserted. Returns no row if the key exists.
create function neoapi.whatsapp_start(
    organization text, credential text, idempotency_key uuid, request_hash bytea, actor text, actor_type text, lead text,
    number text, target text, content json, conversation text, message text)
    returns table (refusal text, deliveries int, created boolean, number_id text, phone_number_id text, access_token text,
                   wa_id text, bsuid text, reply_to text, window_expires_at text)
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    m neoapi.whatsapp_message := json_populate_record(null::neoapi.whatsapp_message, content);
    is_template constant boolean := coalesce(m.type, 'template') = 'template';
    recipient neoapi.lead;
    contact neoapi.whatsapp_identity; -- the one that had the lead's phone when the lead got it, or the target's latest
    opened text := target; -- the conversation
begin
    if idempotency_key is not null then
        insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, expires_at)
        values (organization, credential, idempotency_key, request_hash, case when target is null then 200 else 201 end, message,
                now() + interval '24 hours')
        on conflict do nothing;
        if not found then
            return;
        end if;
    end if;
    deliveries := 0;
    select l.* into recipient from neoapi.lead l where l.organization_id = organization and l.id = lead;
    if target is not null then
        select c.number_id into number_id from neoapi.whatsapp_conversation c
        where c.organization_id = organization and c.id = target and not (c.is_provisional and c.opted_out_at is null);
        refusal := case when not found then 'no_conversation' end;
    elsif not found then
        refusal := 'no_lead';
    elsif recipient.phone is null and recipient.whatsapp_user_id is null then
        refusal := 'no_address';
    else
        select min(n.id), case count(*) when 0 then 'no_number' when 1 then null else 'several_numbers' end into number_id, refusal
        from neoapi.whatsapp_number n where n.organization_id = organization and (number is null or n.id = number);
    end if;
    if refusal is null then
        perform neoapi.whatsapp_lock_numbers(array[number_id]);
        if target is null then
            contact := neoapi.whatsapp_add_identity(neoapi.whatsapp_lead_identity(recipient, number_id), conversation, null);
            opened := contact.conversation_id;
        end if;
        perform neoapi.whatsapp_refresh(organization, opened); -- also applies an opt-out that was imported since
        select x.provider_message_id into reply_to from neoapi.whatsapp_message x
        where x.organization_id = organization and x.conversation_id = opened and x.id = content->>'reply_to_id' and x.refers_to is null;
        select c.contact_wa_id, c.contact_bsuid, n.phone_number_id, n.access_token,
               target is null and (c.is_provisional or c.id = conversation),
               neoapi.format_timestamp(c.last_inbound_at + interval '24 hours'),
               case when c.opted_out_at is not null then 'opted_out'
                    when c.contact_wa_id is null and c.contact_bsuid is null then 'no_phone'
                    when not is_template and coalesce(c.last_inbound_at <= now() - interval '24 hours', true) then 'window_closed'
                    when content->>'reply_to_id' is not null and reply_to is null then 'no_message' end
        into wa_id, bsuid, phone_number_id, access_token, created, window_expires_at, refusal
        from neoapi.whatsapp_conversation c
        join neoapi.whatsapp_number n on n.organization_id = c.organization_id and n.id = c.number_id
        where c.organization_id = organization and c.id = opened;
        if not found then -- it was merged into another one while this waited
            refusal := 'no_conversation';
        end if;
    end if;
    if refusal is not null then
        delete from neoapi.idempotency_key k
        where k.organization_id = organization and k.credential_id = credential and k.key = idempotency_key;
        update neoapi.whatsapp_conversation c set is_provisional = true
        where created and not c.is_provisional and c.organization_id = organization and c.id = opened;
        return next;
        return;
    end if;
    if target is not null then
        select i.* into contact from neoapi.whatsapp_identity i
        where i.organization_id = organization and i.conversation_id = opened
          and (i.wa_id = whatsapp_start.wa_id or whatsapp_start.wa_id is null and i.bsuid = whatsapp_start.bsuid)
        order by i.at desc, i.id desc limit 1;
    end if;
    update neoapi.whatsapp_conversation c
    set is_provisional = false, updated_at = now(), lead_id = coalesce(lead, c.lead_id),
        triage = case when lead is not null and c.triage = 'pending' and c.triage_at is null then 'assigned' else c.triage end
    where c.organization_id = organization and c.id = opened;
    insert into neoapi.whatsapp_message (organization_id, id, conversation_id, identity_id, recipient_wa_id, recipient_bsuid,
        direction, source, type, reply_to, body, template_name, template_language, media_filename, media_url, has_media, status,
        status_at, actor_id, actor_type, occurred_at, created_conversation)
    values (organization, message, opened, contact.id, wa_id, case when wa_id is null then bsuid end, 'outbound', 'api',
        coalesce(m.type, 'template'), reply_to, coalesce(content->>'text', content->>'caption', nullif(content->>'emoji', '')),
        m.template_name, case when is_template then m.template_language end, m.media_filename, m.media_url,
        m.media_url is not null, 'pending', now(), actor, actor_type, now(), created);
    update neoapi.idempotency_key k set status = 201
    where created and k.organization_id = organization and k.credential_id = credential and k.key = idempotency_key;
    return next;
end $$;

-- Records the outcome of a message of whatsapp_start: accepted; failed (rejected for good, which is the response); unknown; or
-- refused, opted_out, unsent, busy, which delete the idempotency key, so that the request can be retried. `rendered` is the template's
-- text with the parameters, or null. Returns the response, or null.
create function neoapi.whatsapp_finish(
    organization text, credential text, idempotency_key uuid, message text, outcome text, provider_id text, wa_id text, bsuid text,
    is_held boolean, code int, title text, rendered text, is_start boolean)
    returns text
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    m neoapi.whatsapp_message;
    number text;
    reported neoapi.whatsapp_status; -- by a callback that was faster than the provider's response
    known bigint; -- identities with greater ids are new
    is_retryable constant boolean := outcome in ('refused', 'opted_out', 'unsent', 'busy');
    response text;
begin
    select c.number_id into number from neoapi.whatsapp_message x
    join neoapi.whatsapp_conversation c on c.organization_id = x.organization_id and c.id = x.conversation_id
    where x.organization_id = organization and x.id = message;
    perform neoapi.whatsapp_lock_numbers(array[number]);
    known := nextval('neoapi.whatsapp_identity_id_seq');
    select x.* into m from neoapi.whatsapp_message x where x.organization_id = organization and x.id = message;
    if outcome = 'accepted' or outcome = 'opted_out' then
        perform neoapi.whatsapp_add_recipient(m, number, coalesce(wa_id, m.recipient_wa_id), bsuid,
                                                  case outcome when 'opted_out' then now() end);
    end if;
    if outcome = 'accepted' then
        select s.* into reported from neoapi.whatsapp_status s
        where s.organization_id = organization and s.provider_message_id = provider_id
        order by neoapi.whatsapp_status_rank(s.status) desc limit 1;
        perform neoapi.whatsapp_add_recipient(m, number, coalesce(reported.contact_wa_id, m.recipient_wa_id),
            reported.contact_bsuid, case reported.error_code when 131050 then reported.occurred_at end);
    end if;
    perform from neoapi.whatsapp_message x
    join neoapi.whatsapp_conversation c on c.organization_id = x.organization_id and c.id = x.conversation_id
    where x.organization_id = organization and x.id = message for update of c;
    select x.* into m from neoapi.whatsapp_message x where x.organization_id = organization and x.id = message for update;
    if outcome = 'accepted' then
        m.provider_message_id := coalesce(m.provider_message_id, (select provider_id where not exists (
            select from neoapi.whatsapp_message o where o.organization_id = organization and o.provider_message_id = provider_id)));
        if m.status = 'pending' then
            m.status := 'accepted';
            m.status_at := now();
        end if;
        if neoapi.whatsapp_status_rank(reported.status) > neoapi.whatsapp_status_rank(m.status) then
            m.status := reported.status;
            m.status_at := reported.occurred_at;
            m.error_code := reported.error_code;
            m.error_title := reported.error_title;
        end if;
        m.pricing := coalesce(neoapi.whatsapp_status_pricing(organization, provider_id), m.pricing);
    elsif outcome <> 'unknown' and m.status = 'pending' then
        m.status := 'failed';
        m.status_at := now();
        m.error_code := code;
        m.error_title := title;
    end if;
    update neoapi.whatsapp_message x
    set provider_message_id = m.provider_message_id, status = m.status, status_at = m.status_at, error_code = m.error_code,
        error_title = m.error_title, pricing = m.pricing, body = coalesce(rendered, x.body)
    where x.organization_id = organization and x.id = message;
    update neoapi.whatsapp_conversation c
    set held = is_held and m.status in ('pending', 'accepted'),
        is_provisional = m.created_conversation and is_retryable and not exists (
            select from neoapi.whatsapp_message o where o.organization_id = organization and o.conversation_id = c.id
            and o.status <> 'failed'),
        updated_at = now()
    where c.organization_id = organization and c.id = m.conversation_id;
    update neoapi.whatsapp_number n
    set refused_at = case when outcome <> 'accepted' then now() end,
        refusal = case when outcome <> 'accepted' then concat_ws(': ', code, title) end,
        is_busy = outcome = 'busy'
    where n.organization_id = organization and n.id = number
      and (outcome in ('unsent', 'busy') or (outcome = 'accepted' and n.refused_at is not null));
    if outcome = 'opted_out' or reported.error_code = 131050 then
        perform neoapi.whatsapp_add_preference_events(array[number], known);
    end if;
    if is_retryable then
        delete from neoapi.idempotency_key k
        where k.organization_id = organization and k.credential_id = credential and k.key = idempotency_key
          and k.response_body = message;
        return null;
    end if;
    response := neoapi.whatsapp_response(organization, message, is_start);
    update neoapi.idempotency_key k set response_body = response
    where k.organization_id = organization and k.credential_id = credential and k.key = idempotency_key
      and k.response_body = message;
    return response;
end $$;

-- Sets what a client decides about a conversation; `opted_out_at` records or withdraws an opt-out that the contact made elsewhere.
-- Returns the conversation as it is then, or null if it has another version or the change is refused: opted_out if the opt-out is the
-- contact's own, which only the contact can end; opted_in if the contact has opted in since; no_broker if the broker does not exist.
create function neoapi.whatsapp_change(
    organization text, conversation text, version xid, changes json, actor text, request text,
    out body text, out deliveries bigint, out refusal text)
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    wanted constant neoapi.whatsapp_conversation := json_populate_record(null::neoapi.whatsapp_conversation, changes);
    before neoapi.whatsapp_conversation;
    c neoapi.whatsapp_conversation;
    contact record;
begin
    deliveries := 0;
    perform neoapi.whatsapp_lock_numbers(array[x.number_id]) from neoapi.whatsapp_conversation x
    where x.organization_id = organization and x.id = conversation
      and date_trunc('milliseconds', x.opted_out_at) is distinct from wanted.opted_out_at;
    select x.* into before from neoapi.whatsapp_conversation x
    where x.organization_id = organization and x.id = conversation and x.xmin = version for update;
    if not found then
        return;
    end if;
    c := before;
    if date_trunc('milliseconds', c.opted_out_at) is distinct from wanted.opted_out_at then
        perform neoapi.whatsapp_refresh(organization, conversation); -- an imported opt-out is the contact's own
        select x.* into c from neoapi.whatsapp_conversation x where x.organization_id = organization and x.id = conversation;
        c.recorded_stop_at := wanted.opted_out_at;
        contact := neoapi.whatsapp_contact_state(c);
        c.opted_out_at := contact.opted_out_at;
        c.preference_at := contact.preference_at;
        if (c.opted_out_at is null) <> (wanted.opted_out_at is null) then
            refusal := case when c.opted_out_at is null then 'opted_in' else 'opted_out' end;
            return;
        end if;
    end if;
    if c.triage <> wanted.triage then
        c.triage := wanted.triage;
        c.triage_at := now();
    end if;
    if c.broker_id is distinct from wanted.broker_id then
        perform from neoapi.broker b where b.organization_id = organization and b.id = wanted.broker_id for key share;
        if wanted.broker_id is not null and not found then
            refusal := 'no_broker';
            return;
        end if;
        c.broker_id := wanted.broker_id;
    end if;
    if c.last_read_at is distinct from wanted.last_read_at then
        c.last_read_at := wanted.last_read_at;
        c.unread_count := neoapi.whatsapp_unread_count(organization, conversation, c.last_read_at);
    end if;
    if c is distinct from before then
        c.updated_at := greatest(now(), before.updated_at + interval '1 millisecond');
        update neoapi.whatsapp_conversation x
        set triage = c.triage, triage_at = c.triage_at, broker_id = c.broker_id, last_read_at = c.last_read_at, unread_count = c.unread_count,
            recorded_stop_at = c.recorded_stop_at, opted_out_at = c.opted_out_at, preference_at = c.preference_at,
            updated_at = c.updated_at
        where x.organization_id = organization and x.id = conversation;
    end if;
    body := neoapi.whatsapp_conversation_json(c);
    deliveries := neoapi.whatsapp_add_preference_event(c, before.opted_out_at is not null, actor, request);
end $$;

-- Of the contact's messages that the client has seen, those with ids up to `up_to`: the last one, and what the provider's API needs to
-- mark it as read. `seen`: how many they are. One row; without a message if none of them is unread; `is_known` is false if
-- `up_to` is no message of the conversation.
create function neoapi.whatsapp_last_received(organization text, conversation text, up_to text)
    returns table (number_id text, phone_number_id text, access_token text, message text, provider_message_id text, seen int,
                   is_known boolean)
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select n.id, n.phone_number_id, n.access_token, l.id, l.provider_message_id, coalesce(l.seen, 0),
               exists (select from neoapi.whatsapp_message m
                       where m.organization_id = organization and m.id = up_to and m.conversation_id = conversation
                         and m.refers_to is null)
        from neoapi.whatsapp_conversation c
        join neoapi.whatsapp_number n on n.organization_id = c.organization_id and n.id = c.number_id
        left join lateral (
            select m.id, m.provider_message_id, m.occurred_at, count(*) filter (where m.id <= up_to) over ()::int as seen,
                   count(*) filter (where m.id > up_to) over () as later
            from neoapi.whatsapp_message m
            where m.organization_id = c.organization_id and m.conversation_id = c.id and m.direction = 'inbound'
              and neoapi.whatsapp_is_new_message(m.type) and m.is_history is not true
            order by m.id <= up_to desc, m.occurred_at desc, m.id desc limit 1) l
            on l.id <= up_to and (c.unread_count > l.later or c.last_read_at is null or c.last_read_at < l.occurred_at)
        where c.organization_id = organization and c.id = conversation and not (c.is_provisional and c.opted_out_at is null)
    $$;

-- Marks the messages of the contact that whatsapp_last_received has counted as read, of which this one is the last; null: changes
-- nothing. Those that were stored later stay unread, whatever their time. Returns the conversation, or null if there is none.
create function neoapi.whatsapp_mark_read(organization text, conversation text, message text, seen int) returns text
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    before neoapi.whatsapp_conversation;
    c neoapi.whatsapp_conversation;
    marked_at timestamptz;
begin
    select x.* into before from neoapi.whatsapp_conversation x where x.organization_id = organization and x.id = conversation for update;
    if not found then
        return null;
    end if;
    c := before;
    select m.occurred_at into marked_at from neoapi.whatsapp_message m
    where m.organization_id = organization and m.conversation_id = conversation and m.id = message;
    if found then
        c.last_read_at := greatest(c.last_read_at, marked_at);
        c.unread_count := least(c.unread_count,
                                greatest(0, neoapi.whatsapp_unread_count(organization, conversation, null) - seen));
    end if;
    if c is distinct from before then
        c.updated_at := greatest(now(), before.updated_at + interval '1 millisecond');
        update neoapi.whatsapp_conversation x
        set last_read_at = c.last_read_at, unread_count = c.unread_count, updated_at = c.updated_at
        where x.organization_id = organization and x.id = conversation;
    end if;
    return neoapi.whatsapp_conversation_json(c);
end $$;

-- A message, and what the provider's API needs to read its attachment; media_id is null without one from the contact. is_kept: the
-- provider, which keeps it for seven days, must still have it.
create function neoapi.whatsapp_media(organization text, conversation text, message text)
    returns table (number_id text, phone_number_id text, access_token text, media_id text, media_mime_type text, media_filename text,
                   is_kept boolean)
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select n.id, n.phone_number_id, n.access_token, case when m.has_media and m.direction = 'inbound' then m.media_id end,
               m.media_mime_type, m.media_filename, m.occurred_at > now() - interval '7 days'
        from neoapi.whatsapp_message m
        join neoapi.whatsapp_conversation c on c.organization_id = m.organization_id and c.id = m.conversation_id
        join neoapi.whatsapp_number n on n.organization_id = c.organization_id and n.id = c.number_id
        where m.organization_id = organization and m.id = message and m.conversation_id = conversation and m.refers_to is null
    $$;

-- Merges the lead `other` into `target`, which gets its conversations, identities and opt-outs and the fields that it lacks. Returns
-- the lead as it is then, or a refusal: no_target or no_lead; or neither if the idempotency key exists. A repeated call changes nothing.
--
-- The numbers are locked first, so that concurrent merges, messages and callbacks of the organization do not deadlock.
create function neoapi.lead_merge(organization text, credential text, idempotency_key uuid, request_hash bytea, target text, other text,
                                  actor text, request text, out body text, out deliveries bigint, out refusal text)
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    t neoapi.lead;
    o neoapi.lead;
    before neoapi.lead; -- the target
    merged text[];
    old neoapi.whatsapp_conversation;
    refreshed neoapi.whatsapp_conversation;
    at constant timestamptz := date_trunc('milliseconds', now());
begin
    if idempotency_key is not null then
        insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, expires_at)
        values (organization, credential, idempotency_key, request_hash, 200, '', now() + interval '24 hours')
        on conflict do nothing;
        if not found then
            return;
        end if;
    end if;
    deliveries := 0;
    perform neoapi.whatsapp_lock_numbers(array(select n.id from neoapi.whatsapp_number n where n.organization_id = organization));
    perform from neoapi.lead l where l.organization_id = organization and l.id in (target, other) order by l.id for update;
    select l.* into t from neoapi.lead l where l.organization_id = organization and l.id = target;
    select l.* into o from neoapi.lead l where l.organization_id = organization and l.id = other;
    if t.id is null then
        refusal := 'no_target';
    elsif o.id is null and t.merged_lead_ids::jsonb ? other then
        body := t.representation;
    elsif o.id is null then
        refusal := 'no_lead';
    end if;
    if o.id is null or t.id is null then
        delete from neoapi.idempotency_key k -- a repeated request is answered by the lead itself
        where k.organization_id = organization and k.credential_id = credential and k.key = idempotency_key;
        return;
    end if;
    update neoapi.whatsapp_identity i set lead_id = target where i.organization_id = organization and i.lead_id = other;
    update neoapi.whatsapp_opt_out x set lead_id = target where x.organization_id = organization and x.lead_id = other;
    update neoapi.lead_origin x set lead_id = target where x.organization_id = organization and x.lead_id = other;
    update neoapi.whatsapp_conversation c set lead_id = target, updated_at = greatest(now(), c.updated_at + interval '1 millisecond')
    where c.organization_id = organization and c.lead_id = other;
    delete from neoapi.reference r where r.organization_id = organization and r.source_id = other;
    update neoapi.lead l set updated_at = greatest(at, l.updated_at + interval '1 millisecond'), updated_by = actor
    where l.organization_id = organization and l.id = other returning l.* into o;
    delete from neoapi.lead l where l.organization_id = organization and l.id = other;
    before := t;
    merged := array(select json_array_elements_text(coalesce(t.merged_lead_ids, '[]')))
           || array(select json_array_elements_text(coalesce(o.merged_lead_ids, '[]'))) || other;
    update neoapi.lead l
    set phone = coalesce(l.phone, o.phone), whatsapp_user_id = coalesce(l.whatsapp_user_id, o.whatsapp_user_id), email = coalesce(l.email, o.email),
        message = coalesce(l.message, o.message), origin = coalesce(l.origin, o.origin),
        property_id = coalesce(l.property_id, o.property_id), party_id = coalesce(l.party_id, o.party_id),
        broker_id = coalesce(l.broker_id, o.broker_id),
        assigned_by = case when l.broker_id is null then o.assigned_by else l.assigned_by end, consent = coalesce(l.consent, o.consent),
        received_at = coalesce(l.received_at, o.received_at), external_id = coalesce(l.external_id, o.external_id),
        metadata = coalesce(l.metadata, o.metadata),
        merged_lead_ids = array_to_json(merged[greatest(cardinality(merged) - 999, 1):]), -- the field's limit
        updated_at = greatest(at, l.updated_at + interval '1 millisecond'), updated_by = actor
    where l.organization_id = organization and l.id = target returning l.* into t;
    update neoapi.lead l set phone_at = o.phone_at -- the trigger has set it if the phone or user id is the other's
    where l.organization_id = organization and l.id = target and l.phone_at <> before.phone_at;
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select organization, target, k.path, k.id
    from (values ('property_id', t.property_id), ('party_id', t.party_id), ('broker_id', t.broker_id)) k (path, id)
    where k.id is not null on conflict do nothing;
    body := t.representation;
    update neoapi.idempotency_key k set response_body = body
    where k.organization_id = organization and k.credential_id = credential and k.key = idempotency_key;
    deliveries := neoapi.add_event(organization, 'lead.updated', target, body, actor, request, before.representation)
                + neoapi.add_event(organization, 'lead.deleted', other, o.representation, actor, request);
    for old in select x.* from neoapi.whatsapp_conversation x where x.organization_id = organization and x.lead_id = target
               order by x.id loop
        perform neoapi.whatsapp_refresh(organization, old.id); -- applies the opt-outs of the other lead
        select x.* into refreshed from neoapi.whatsapp_conversation x where x.organization_id = organization and x.id = old.id;
        deliveries := deliveries + neoapi.whatsapp_add_preference_event(refreshed, old.opted_out_at is not null, actor, request);
    end loop;
end $$;

-- What an administrator should know: how many messages have been pending for more than ten minutes, the oldest one and for how many
-- seconds, the numbers whose messages the provider has refused within a day and not accepted since, and how many of them need a
-- change by an administrator.
create function neoapi.whatsapp_health(out stalled bigint, out oldest bigint, out oldest_id text, out refused bigint,
                                       out refusals text)
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select p.stalled, coalesce(p.oldest, 0), p.oldest_id, r.refused, r.refusals
        from (select count(*) as stalled, extract(epoch from now() - min(m.occurred_at))::bigint as oldest,
                     (array_agg(m.id order by m.occurred_at, m.id))[1] as oldest_id
              from neoapi.whatsapp_message m
              where m.status = 'pending' and m.occurred_at < now() - interval '10 minutes') p,
             (select count(*) filter (where not n.is_busy) as refused, string_agg(
                 format('%s (%s%s)', n.id, case when n.is_busy then 'temporarily; ' end, n.refusal), ', ' order by n.id) as refusals
              from neoapi.whatsapp_number n where n.refused_at > now() - interval '1 day') r
    $$;

revoke execute on function
    neoapi.whatsapp_start, neoapi.whatsapp_finish, neoapi.whatsapp_change, neoapi.lead_merge,
    neoapi.whatsapp_last_received, neoapi.whatsapp_mark_read, neoapi.whatsapp_media, neoapi.whatsapp_health from public;
grant execute on function
    neoapi.whatsapp_start, neoapi.whatsapp_finish, neoapi.whatsapp_change, neoapi.lead_merge,
    neoapi.whatsapp_last_received, neoapi.whatsapp_mark_read, neoapi.whatsapp_media, neoapi.whatsapp_health to :runtime;

-- ---------------------------------------------------------------- receiving

-- The functions store the messages, statuses and preferences of the provider's callbacks.
--
-- One call of whatsapp_receive stores some items of a callback. The provider repeats callbacks; a repetition changes nothing. Items
-- have times of their own, so the order in which they arrive changes nothing either (see doc/whatsapp.md).

-- An item of a callback, as src/whatsapp/callback.c reads it.
create type neoapi.whatsapp_callback_item as (
    n               int,    -- its position in the callback
    kind            text,   -- message, status, preference, number_changed
    phone_number_id text,
    id              text,   -- the provider's message id; of number_changed, of the message that reports it
    message         text,   -- of a status: our message id, which was sent along with the message
    wa_id           text,
    bsuid           text,
    name            text,
    type            text,
    body            text,
    mime_type       text,
    filename        text,
    media_id        text,
    has_media       boolean,
    is_group        boolean,
    is_outbound     boolean, -- of a message: sent with the business's telephone
    is_history      boolean, -- of a message: an old one of the telephone; all items of a call are, or none
    refers_to       text,   -- of the types edit and revoke: the id of the message that is changed
    reply_to        text,   -- of a reply or a reaction: the id of the message that it is to
    status          text,   -- of a status, or of an outbound message
    error_code      int,
    error_title     text,
    pricing         json,   -- of a status
    preference      text,   -- stop or resume
    new_wa_id       text,
    new_bsuid       text,
    at              bigint, -- milliseconds since 1970; null: unknown
    -- set by whatsapp_receive
    organization_id text,
    number_id       text
);

-- The provider's timestamp, which is in seconds; a missing one, or one that is absurd, is now.
create function neoapi.whatsapp_timestamp(at bigint) returns timestamptz
    language sql stable parallel safe
    return case when to_timestamp(at / 1000.0) < now() + interval '1 day' then to_timestamp(at / 1000.0)
                else date_trunc('second', now()) end;

-- Stores what a message, a preference or a change of number says about its contact. Returns the changed conversation.
create function neoapi.whatsapp_add_item_identities(item neoapi.whatsapp_callback_item, conversation_block text) returns text
    language plpgsql volatile as $$
declare
    new_id constant text := neoapi.block_id(conversation_block, item.n);
    split_id constant text := neoapi.block_id(conversation_block, 524288 + item.n * 2); -- and the next one
    is_same boolean; -- the phone
    i neoapi.whatsapp_identity;
begin
    i.organization_id := item.organization_id;
    i.number_id := item.number_id;
    i.at := neoapi.whatsapp_timestamp(item.at);
    i.wa_id := item.wa_id;
    i.bsuid := item.bsuid;
    i.kind := 'seen';
    if item.kind <> 'number_changed' then
        i.source := case item.kind when 'message' then 'message ' || item.id
                                else concat_ws(' ', 'preference', item.preference, extract(epoch from i.at), item.wa_id, item.bsuid) end;
        i.name := item.name;
        i.preference := item.preference;
        i.preference_at := case when item.preference is not null then least(i.at, now()) end;
        return (neoapi.whatsapp_add_identity(i, new_id, null)).conversation_id;
    end if;
    -- A new user id alone, or another spelling of the phone, is not a change of phone.
    is_same := coalesce(neoapi.whatsapp_phone_key(item.new_wa_id) = neoapi.whatsapp_phone_key(item.wa_id), item.new_wa_id is null);
    i.source := 'old ' || item.id;
    i.link := 'change ' || item.id;
    i.kind := case when is_same then 'seen' else 'left' end;
    perform neoapi.whatsapp_add_identity(i, new_id, split_id);
    i.source := 'new ' || item.id;
    i.kind := case when is_same then 'returned' else 'joined' end;
    i.wa_id := coalesce(item.new_wa_id, item.wa_id);
    i.bsuid := item.new_bsuid;
    return (neoapi.whatsapp_add_identity(i, new_id, neoapi.block_id(conversation_block, 524289 + item.n * 2))).conversation_id;
end $$;

-- The message that a status is about. Until the response is recorded, it has no provider_message_id.
create function neoapi.whatsapp_status_message(item neoapi.whatsapp_callback_item) returns setof neoapi.whatsapp_message
    language sql stable
    as $$
        (select m.* from neoapi.whatsapp_message m
         where m.organization_id = item.organization_id and m.provider_message_id = item.id and m.direction = 'outbound'
         union all
         select m.* from neoapi.whatsapp_message m
         where m.organization_id = item.organization_id and m.id = item.message and m.direction = 'outbound'
           and m.provider_message_id is null) limit 1
    $$;

-- Stores to whom a message went, as a status says, and error 131050: the contact has sent stop to the provider.
create function neoapi.whatsapp_add_status_recipient(item neoapi.whatsapp_callback_item) returns void
    language sql volatile
    as $$
        select neoapi.whatsapp_add_recipient(m, item.number_id, coalesce(item.wa_id, m.recipient_wa_id), item.bsuid,
            case when item.error_code = 131050 and item.status = 'failed' then least(neoapi.whatsapp_timestamp(item.at), now()) end)
        from neoapi.whatsapp_status_message(item) m
    $$;

-- Inserts messages and updates their conversations. Returns the ids of the new messages. An outbound one may have had statuses
-- before. What is history was read on the telephone, if nothing else is unread.
create function neoapi.whatsapp_insert_messages(items neoapi.whatsapp_callback_item[], id_block text) returns text[]
    language sql volatile
    as $$
        with inserted as (
            insert into neoapi.whatsapp_message (organization_id, id, conversation_id, identity_id, direction, source,
                recipient_wa_id, recipient_bsuid, provider_message_id, refers_to, reply_to, type, is_group, body, media_mime_type,
                media_filename, media_id, has_media, status, status_at, error_code, error_title, pricing, occurred_at, is_history)
            select u.organization_id, neoapi.block_id(id_block, u.n), i.conversation_id, i.id,
                   case when u.is_outbound then 'outbound' else 'inbound' end, case when u.is_outbound then 'device' else 'webhook' end,
                   case when u.is_outbound then u.wa_id end, case when u.is_outbound and u.wa_id is null then u.bsuid end, u.id,
                   u.refers_to, u.reply_to, u.type, coalesce(u.is_group, false), u.body, u.mime_type, u.filename, u.media_id, u.has_media,
                   coalesce(s.status, u.status, 'received'), coalesce(s.occurred_at, now()), s.error_code, s.error_title,
                   case when u.is_outbound then neoapi.whatsapp_status_pricing(u.organization_id, u.id) end,
                   least(neoapi.whatsapp_timestamp(u.at), now()), u.is_history
            from unnest(items) u
            join neoapi.whatsapp_identity i
                on i.organization_id = u.organization_id and i.number_id = u.number_id and i.source = 'message ' || u.id
            left join lateral (
                select x.* from neoapi.whatsapp_status x
                where u.is_outbound and x.organization_id = u.organization_id and x.provider_message_id = u.id
                  and neoapi.whatsapp_status_rank(x.status) > neoapi.whatsapp_status_rank(u.status)
                order by neoapi.whatsapp_status_rank(x.status) desc limit 1) s on true
            where u.kind = 'message' order by u.n
            on conflict do nothing
            returning organization_id, id, conversation_id, occurred_at, type, is_group, direction),
        updated as (
            update neoapi.whatsapp_conversation c
            set last_inbound_at = greatest(c.last_inbound_at, t.last),
                unread_count = c.unread_count + case when items[1].is_history then 0 else t.count end,
                last_read_at = case when items[1].is_history and c.unread_count = 0 then greatest(c.last_read_at, t.last)
                                    else c.last_read_at end,
                updated_at = now(), is_provisional = false
            from (select organization_id, conversation_id,
                         count(*) filter (where direction = 'inbound' and neoapi.whatsapp_is_new_message(type))::int as count,
                         max(occurred_at) filter (where direction = 'inbound' and neoapi.whatsapp_is_new_message(type) and not is_group) as last
                  from inserted group by organization_id, conversation_id) t
            where c.organization_id = t.organization_id and c.id = t.conversation_id)
        select array(select id from inserted)
    $$;

-- Stores the media of old messages, which follow in callbacks of their own.
create function neoapi.whatsapp_add_media(items neoapi.whatsapp_callback_item[]) returns void
    language sql volatile
    as $$
        update neoapi.whatsapp_message m
        set type = u.type, body = coalesce(u.body, m.body), media_mime_type = u.mime_type, media_filename = u.filename, media_id = u.media_id,
            has_media = u.has_media
        from unnest(items) u
        where u.is_history and u.kind = 'message' and u.type <> 'media_placeholder'
          and m.organization_id = u.organization_id and m.provider_message_id = u.id and m.type = 'media_placeholder'
    $$;

-- Applies the latest edit or revocation of each message to it. Either can arrive first. Only the sender can change a message. A
-- revoked message has no edit, so that an edit that arrives later changes nothing.
-- Returns the ids of the messages that change.
create function neoapi.whatsapp_apply_edits(items neoapi.whatsapp_callback_item[]) returns text[]
    language sql volatile
    as $$
        with change as materialized ( -- without organization_id, so that the index of refers_to is used
            select x.organization_id, x.conversation_id, x.direction, x.refers_to as id,
                   (array_agg(x.body order by x.occurred_at desc, x.id desc) filter (where x.type = 'edit'))[1] as body,
                   case when not bool_or(x.type = 'revoke') then max(x.occurred_at) filter (where x.type = 'edit') end as edited_at,
                   min(x.occurred_at) filter (where x.type = 'revoke') as revoked_at
            from neoapi.whatsapp_message x
            where x.refers_to = any (array(select coalesce(u.refers_to, u.id) from unnest(items) u where u.kind = 'message'))
            group by x.organization_id, x.conversation_id, x.direction, x.refers_to),
        changed as (
            update neoapi.whatsapp_message o
            set body = case when e.revoked_at is null then e.body end, has_media = o.has_media and e.revoked_at is null,
                edited_at = e.edited_at, revoked_at = e.revoked_at
            from change e
            where o.organization_id = e.organization_id and o.provider_message_id = e.id and o.direction = e.direction
              and o.conversation_id = e.conversation_id and o.refers_to is null
              and (o.edited_at, o.revoked_at) is distinct from (e.edited_at, e.revoked_at)
            returning o.id)
        select array(select id from changed)
    $$;

-- Inserts statuses and updates their messages and conversations. Returns the number of new statuses and the ids of the messages
-- that change.
create function neoapi.whatsapp_apply_statuses(items neoapi.whatsapp_callback_item[], out count bigint, out changed text[])
    language plpgsql volatile as $$
begin
    perform from neoapi.whatsapp_conversation c
    where (c.organization_id, c.id) in (
        select m.organization_id, m.conversation_id from unnest(items) u cross join lateral neoapi.whatsapp_status_message(u) m
        where u.kind = 'status')
    order by c.organization_id, c.id for update;
    insert into neoapi.whatsapp_status (organization_id, provider_message_id, status, occurred_at, error_code, error_title,
        pricing, contact_wa_id, contact_bsuid)
    select u.organization_id, u.id, u.status, least(neoapi.whatsapp_timestamp(u.at), now()), u.error_code, u.error_title,
           u.pricing, u.wa_id, u.bsuid
    from unnest(items) u where u.kind = 'status' order by u.organization_id, u.id, u.status, u.n
    on conflict do nothing;
    get diagnostics count = row_count;
    with target as (
        select distinct on (m.organization_id, m.id) m.organization_id, m.id, m.conversation_id, u.id as provider_id, u.status,
               least(neoapi.whatsapp_timestamp(u.at), now()) as at, u.error_code, u.error_title,
               neoapi.whatsapp_status_rank(u.status) > neoapi.whatsapp_status_rank(m.status) as is_later,
               coalesce(neoapi.whatsapp_status_pricing(m.organization_id, u.id), m.pricing)::text as pricing
        from unnest(items) u cross join lateral neoapi.whatsapp_status_message(u) m
        where u.kind = 'status'
        order by m.organization_id, m.id, neoapi.whatsapp_status_rank(u.status) desc, u.n),
    updated as (
        update neoapi.whatsapp_message m
        set provider_message_id = coalesce(m.provider_message_id, (select t.provider_id where not exists (
                select from neoapi.whatsapp_message o
                where o.organization_id = t.organization_id and o.provider_message_id = t.provider_id))),
            status = case when t.is_later then t.status else m.status end,
            status_at = case when t.is_later then t.at else m.status_at end,
            error_code = case when t.is_later then t.error_code else m.error_code end,
            error_title = case when t.is_later then t.error_title else m.error_title end,
            pricing = t.pricing::json
        from target t
        where m.organization_id = t.organization_id and m.id = t.id
          and (t.is_later or t.pricing is distinct from m.pricing::text)
        returning m.id),
    released as (
        update neoapi.whatsapp_conversation c set held = false, updated_at = now()
        from (select organization_id, conversation_id, array_agg(id) as messages from target
              group by organization_id, conversation_id) t
        where c.organization_id = t.organization_id and c.id = t.conversation_id and c.held
          and (select m.id from neoapi.whatsapp_message m
               where m.organization_id = c.organization_id and m.conversation_id = c.id and m.direction = 'outbound'
               order by m.occurred_at desc, m.id desc limit 1) = any (t.messages))
    select array(select id from updated) into changed;
end $$;

-- Stores items (a JSON array) of the given numbers. conversation_block and message_block are reserved blocks of ids.
create function neoapi.whatsapp_receive(callback_items json, numbers text[], conversation_block text, message_block text,
                                        out message_count bigint, out delivery_count bigint, out status_count bigint)
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    items neoapi.whatsapp_callback_item[];
    item neoapi.whatsapp_callback_item;
    changed text[] := '{}'; -- conversations
    received text[];        -- messages
    edited text[];
    delivered text[];
    known bigint;           -- identities with greater ids are new
begin
    items := array(
        select json_populate_record(u, json_build_object('organization_id', w.organization_id, 'number_id', w.id))
        from json_populate_recordset(null::neoapi.whatsapp_callback_item, callback_items) u
        join neoapi.whatsapp_number w on w.phone_number_id = u.phone_number_id and w.id = any (numbers)
        order by u.n);
    perform neoapi.whatsapp_lock_numbers(array(select u.number_id from unnest(items) u));
    known := nextval('neoapi.whatsapp_identity_id_seq');
    foreach item in array items loop
        if item.kind = 'status' then
            perform neoapi.whatsapp_add_status_recipient(item);
        else
            changed := changed || neoapi.whatsapp_add_item_identities(item, conversation_block);
        end if;
    end loop;
    perform neoapi.whatsapp_refresh(k.organization_id, k.id) from (
        select distinct c.organization_id, c.id from neoapi.whatsapp_conversation c
        where c.id = any (changed) and c.organization_id = any (array(select distinct u.organization_id from unnest(items) u))
        order by c.organization_id, c.id) k;
    received := neoapi.whatsapp_insert_messages(items, message_block);
    perform neoapi.whatsapp_add_media(items) where items[1].is_history;
    edited := neoapi.whatsapp_apply_edits(items);
    select s.count, s.changed into status_count, delivered from neoapi.whatsapp_apply_statuses(items) s;
    message_count := cardinality(received);
    delivery_count := case when items[1].is_history then 0 else -- old messages cause no events, an opt-out in them does
        neoapi.whatsapp_add_message_events(array(select u.organization_id from unnest(items) u), received, edited || delivered) end;
    delivery_count := delivery_count
                    + neoapi.whatsapp_add_preference_events(array(select u.number_id from unnest(items) u), known);
end $$;

revoke execute on function neoapi.whatsapp_receive from public;
grant execute on function neoapi.whatsapp_receive to :runtime;

-- ---------------------------------------------------------------- events

-- Events are written into the event log (see 0003_webhooks.sql) in the transaction of the change.

-- Adds the events of messages that are new, and of others that changed. An edit or a revocation is a change of the message that it
-- refers to. Returns the number of deliveries.
create function neoapi.whatsapp_add_message_events(organizations text[], received text[], changed text[]) returns bigint
    language plpgsql volatile as $$
begin
    return (select coalesce(sum(neoapi.add_event(e.organization_id, e.happened, e.id, e.payload)), 0)
            from (select m.organization_id, m.id, neoapi.whatsapp_message_json(m) as payload,
                         case when m.direction = 'outbound' and k.what = 'whatsapp.message.received' then 'whatsapp.message.sent'
                              else k.what end as happened
                  from (select r as id, 'whatsapp.message.received' as what from unnest(received) r
                        union
                        select c, 'whatsapp.message.updated' from unnest(changed) c where c <> all (received)) k
                  join neoapi.whatsapp_message m on m.organization_id = any (organizations) and m.id = k.id and m.refers_to is null
                  order by k.what, m.id) e);
end $$;

-- Adds an event of a contact that had opted out and has not any more, or the other way round. Returns the number of deliveries.
create function neoapi.whatsapp_add_preference_event(c neoapi.whatsapp_conversation, was_opted_out boolean,
                                                     actor text default 'system', request text default null) returns bigint
    language plpgsql volatile as $$
begin
    return case when was_opted_out = (c.opted_out_at is not null) then 0 else
        neoapi.add_event(c.organization_id, case when was_opted_out then 'whatsapp.contact.opted_in' else 'whatsapp.contact.opted_out' end,
                         c.id, neoapi.whatsapp_conversation_json(c), actor, request) end;
end $$;

-- Adds the events of the contacts whose identities with ids greater than `known` change whether they have opted out. Returns the
-- number of deliveries.
create function neoapi.whatsapp_add_preference_events(numbers text[], known bigint) returns bigint
    language sql volatile
    as $$
        select coalesce(sum(neoapi.whatsapp_add_preference_event(c, before.opted_out_at is not null)), 0)::bigint
        from (select distinct i.organization_id, i.conversation_id from neoapi.whatsapp_identity i
              where i.id > known and i.number_id = any (numbers) and i.preference is not null) n
        join neoapi.whatsapp_conversation c on c.organization_id = n.organization_id and c.id = n.conversation_id
        cross join lateral neoapi.whatsapp_preference(c, known) before
    $$;

-- ---------------------------------------------------------------- import

-- Conversations are exported with the identities of their contacts. An import adds what is missing and changes nothing that exists.

-- The source of an imported identity. That of a lead has the lead's id, which can be new, its phone, and since when it has it.
create function neoapi.whatsapp_import_source(identity json) returns text
    language sql immutable parallel safe
    return case when identity->>'kind' = 'lead' and identity->>'lead_id' is not null
                then regexp_replace(identity->>'source', '^lead \S+ ', 'lead ' || (identity->>'lead_id') || ' ')
                else identity->>'source' end;

-- Adds an identity of a conversation's contact.
create function neoapi.whatsapp_import_identity(organization text, number text, conversation text, identity json) returns void
    language plpgsql volatile as $$
declare
    i neoapi.whatsapp_identity := json_populate_record(null::neoapi.whatsapp_identity, identity);
    since constant text := substring(i.source from '^lead \S+ \S+ ([0-9]+(?:[.][0-9]+)?)$');
begin
    i.organization_id := organization;
    i.number_id := number;
    i.conversation_id := conversation;
    i.source := neoapi.whatsapp_import_source(identity);
    if i.kind = 'lead' and since is not null then
        update neoapi.lead l set phone_at = to_timestamp(since::double precision)
        where l.organization_id = organization and l.id = i.lead_id
          and coalesce(l.phone, l.whatsapp_user_id) = split_part(i.source, ' ', 3)
          and l.phone_at > to_timestamp(since::double precision);
    end if;
    i.phone := neoapi.whatsapp_phone_key(i.wa_id);
    i.boundary := case when i.phone is not null then
        case i.kind when 'left' then i.at + interval '1 second' when 'joined' then i.at end end;
    i.id := nextval('neoapi.whatsapp_identity_id_seq');
    insert into neoapi.whatsapp_identity overriding system value select i.* on conflict do nothing;
end $$;

-- Imports a conversation (see neo_import_call_sql). Returns created, unchanged, or skipped if the organization does not have the
-- number. If an earlier import has merged it into another one, it is not created again: that one has its last message or, if the
-- provider has none of its messages, its identities. (Those of the kinds sent and returned need not be there: see whatsapp_regroup.)
create function neoapi.whatsapp_import_conversation(organization text, body json) returns text
    language plpgsql volatile as $$
declare
    c neoapi.whatsapp_conversation := json_populate_record(null::neoapi.whatsapp_conversation, body);
    last_message text := body->>'last_provider_message_id';
    identities json := coalesce(body->'identities', '[]');
begin
    select n.id into c.number_id from neoapi.whatsapp_number n
    where n.organization_id = organization and n.phone_number_id = body->>'phone_number_id';
    if not found then
        return 'skipped';
    end if;
    perform neoapi.whatsapp_lock_numbers(array[c.number_id]);
    if exists (select from neoapi.whatsapp_message m
               where m.organization_id = organization and m.provider_message_id = last_message
                 and m.conversation_id <> c.id)
       or last_message is null and json_array_length(identities) > 0 and not exists (
               select from json_array_elements(identities) e
               where e.value->>'kind' not in ('sent', 'returned') and not exists (
                   select from neoapi.whatsapp_identity i
                   where i.source = neoapi.whatsapp_import_source(e.value) and i.number_id = c.number_id
                     and i.conversation_id <> c.id)) then
        return 'unchanged';
    end if;
    insert into neoapi.whatsapp_conversation select c.* on conflict do nothing;
    if not found then
        return 'unchanged';
    end if;
    perform neoapi.whatsapp_import_identity(organization, c.number_id, c.id, e.value)
    from json_array_elements(identities) with ordinality e order by e.ordinality;
    return 'created';
end $$;

-- Imports a message into its conversation, or into the one that has its identity.
create function neoapi.whatsapp_import_message(organization text, body json) returns text
    language plpgsql volatile as $$
declare
    m neoapi.whatsapp_message := json_populate_record(null::neoapi.whatsapp_message, body);
    c neoapi.whatsapp_conversation;
begin
    if exists (select from neoapi.whatsapp_message x where x.organization_id = organization
               and (x.id = m.id or x.provider_message_id = m.provider_message_id)) then
        return 'unchanged';
    end if;
    select x.* into c from neoapi.whatsapp_conversation x
    where x.organization_id = organization and x.id = coalesce(
        (select i.conversation_id from neoapi.whatsapp_identity i
         where i.organization_id = organization and i.source = body->>'identity_source'
           and exists (select from neoapi.whatsapp_number n where n.organization_id = organization and n.id = i.number_id) limit 1),
        m.conversation_id);
    if not found then
        return 'skipped';
    end if;
    perform neoapi.whatsapp_lock_numbers(array[c.number_id]);
    if body->'identity' is not null then
        perform neoapi.whatsapp_import_identity(organization, c.number_id, c.id, body->'identity');
    end if;
    select i.id, i.conversation_id into m.identity_id, m.conversation_id from neoapi.whatsapp_identity i
    where i.organization_id = organization and i.number_id = c.number_id
      and (i.source = body->>'identity_source'
           or (i.conversation_id = c.id and i.kind = 'lead' and body->>'identity_source' like 'lead %' -- whose id can be new
               and split_part(i.source, ' ', 3) = split_part(body->>'identity_source', ' ', 3)
               and split_part(i.source, ' ', 4) = split_part(body->>'identity_source', ' ', 4)))
    limit 1;
    m.conversation_id := coalesce(m.conversation_id, c.id);
    insert into neoapi.whatsapp_message select m.* on conflict do nothing;
    return case when found then 'created' else 'unchanged' end;
end $$;

-- Merges an imported conversation with the others of its contact. This is done after all lines have been written, because only all
-- identities together say which phone was whose.
create function neoapi.whatsapp_merge_imported(organization text, body json) returns void
    language plpgsql volatile as $$
declare
    conversation constant text := body->>'id';
    number text := (select c.number_id from neoapi.whatsapp_conversation c
                    where c.organization_id = organization and c.id = conversation);
    holders text[]; -- the conversation itself, unless it has no identities, and the others
begin
    if number is null then
        return;
    end if;
    perform neoapi.whatsapp_lock_numbers(array[number]);
    with own as materialized (
        select i.link, i.bsuid, i.phone, t.since, t.until from neoapi.whatsapp_identity i
        left join lateral neoapi.whatsapp_phone_period(organization, number, i.phone, i.at) t on i.phone is not null
        where i.organization_id = organization and i.conversation_id = conversation
        group by 1, 2, 3, 4, 5)
    select array( -- each lookup is a subquery, so that its index is used whatever the table's statistics are
        select o.conversation_id from own k cross join lateral (
            select distinct x.conversation_id from neoapi.whatsapp_identity x where x.link = k.link and x.number_id = number) o
        union
        select o.conversation_id from own k cross join lateral (
            select distinct x.conversation_id from neoapi.whatsapp_identity x where x.bsuid = k.bsuid and x.number_id = number) o
        union
        select o.conversation_id from (select distinct k.phone, k.since, k.until from own k) k cross join lateral (
            select distinct x.conversation_id from neoapi.whatsapp_identity x
            where x.phone = k.phone and x.number_id = number and x.at >= k.since and x.at < k.until) o)
    into holders;
    if cardinality(holders) > 1 then
        perform neoapi.whatsapp_regroup(organization, holders, null);
    elsif cardinality(holders) = 0 and body->'identities' is not null then -- another conversation has them
        delete from neoapi.whatsapp_conversation c
        where c.organization_id = organization and c.id = conversation and not exists (
            select from neoapi.whatsapp_message m where m.organization_id = organization and m.conversation_id = conversation);
    end if;
end $$;
