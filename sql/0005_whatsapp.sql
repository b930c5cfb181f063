-- SPDX-License-Identifier: Apache-2.0
-- Creates the tables of WhatsApp: numbers, leads, conversations, messages, statuses.
--
-- The runtime role has no privileges on these tables, except to look up a number by the provider's id and to read conversations
-- and messages. It calls the security definer functions of the next files. Administrators create numbers and leads with neoapictl.

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
    primary key (organization_id, id)
);
create unique index whatsapp_number_phone_number_id_key on neoapi.whatsapp_number (phone_number_id);
create index whatsapp_number_waba_id on neoapi.whatsapp_number (waba_id);
create index whatsapp_number_verify_token on neoapi.whatsapp_number (verify_token_hash);

create table neoapi.lead (
    organization_id text collate "C" not null references neoapi.organization (id),
    id              text collate "C" not null check (id like 'led\_%' and octet_length(id) = 30),
    name            text not null check (length(name) between 1 and 200),
    phone           text collate "C" not null check (phone ~ '^[1-9][0-9]{7,14}$'),
    email           text check (length(email) between 3 and 254),
    party_id        text collate "C",
    created_at      timestamptz not null default date_trunc('milliseconds', now()), -- as it is exported
    phone_at        timestamptz not null default now(), -- since when the lead has this phone
    representation  text not null, -- as neoapictl exports it
    primary key (organization_id, id),
    -- API clients can delete parties but not leads.
    foreign key (organization_id, party_id) references neoapi.party (organization_id, id) on delete set null (party_id)
);
create unique index lead_phone_key on neoapi.lead (organization_id, neoapi.whatsapp_phone_key(phone));
create index lead_party on neoapi.lead (organization_id, party_id) where party_id is not null;

create function neoapi.lead_set_phone_at() returns trigger language plpgsql as $$
begin
    new.phone_at := now();
    return new;
end $$;
create trigger set_phone_at before update on neoapi.lead
    for each row when (neoapi.whatsapp_phone_key(new.phone) <> neoapi.whatsapp_phone_key(old.phone))
    execute function neoapi.lead_set_phone_at();

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
    foreign key (organization_id, lead_id) references neoapi.lead (organization_id, id)
);
create index whatsapp_conversation_wa_id
    on neoapi.whatsapp_conversation (organization_id, number_id, neoapi.whatsapp_phone_key(contact_wa_id))
    where contact_wa_id is not null;
create index whatsapp_conversation_bsuid
    on neoapi.whatsapp_conversation (organization_id, number_id, contact_bsuid) where contact_bsuid is not null;
create index whatsapp_conversation_lead on neoapi.whatsapp_conversation (organization_id, lead_id, number_id)
    where lead_id is not null;

create table neoapi.whatsapp_message (
    organization_id      text collate "C" not null,
    id                   text collate "C" not null check (id like 'wam\_%' and octet_length(id) = 30),
    conversation_id      text collate "C" not null,
    direction            text not null check (direction in ('inbound', 'outbound')),
    source               text not null check (source in ('webhook', 'api')),
    identity_id          bigint, -- of neoapi.whatsapp_identity: the sender, or the lead; decides about conversation_id
    recipient_wa_id      text collate "C", -- whom it was sent to
    recipient_bsuid      text collate "C",
    provider_message_id  text collate "C",
    refers_to            text collate "C", -- of an edit or a revocation: the message's provider_message_id
    type                 text not null,
    is_group             boolean not null default false,
    body                 text,
    edited_at            timestamptz,
    revoked_at           timestamptz,
    template_name        text,
    template_language    text,
    media_mime_type      text,
    media_filename       text,
    has_media            boolean not null default false,
    status               text not null
                         check (status in ('received', 'pending', 'accepted', 'sent', 'delivered', 'read', 'failed')),
    status_at            timestamptz not null,
    error_code           int,
    error_title          text,
    actor_id             text collate "C",
    actor_type           text check (actor_type in ('user', 'api_key', 'system')),
    occurred_at          timestamptz not null,
    created_conversation boolean not null default false, -- by the request that sent it
    primary key (organization_id, id),
    foreign key (organization_id, conversation_id) references neoapi.whatsapp_conversation (organization_id, id)
);
create unique index whatsapp_message_provider_message_id_key
    on neoapi.whatsapp_message (organization_id, provider_message_id) where provider_message_id is not null;
create index whatsapp_message_refers_to on neoapi.whatsapp_message (refers_to) where refers_to is not null;
create index whatsapp_message_pending on neoapi.whatsapp_message (organization_id, occurred_at) where status = 'pending';
create index whatsapp_message_page on neoapi.whatsapp_message (organization_id, conversation_id, id) where refers_to is null;
create index whatsapp_message_conversation on neoapi.whatsapp_message (organization_id, conversation_id, occurred_at, id);

-- The texts of templates' bodies, as the provider returned them; text is null if it returned none.
create table neoapi.whatsapp_template (
    organization_id text collate "C" not null references neoapi.organization (id),
    waba_id         text collate "C" not null,
    name            text collate "C" not null,
    language        text collate "C" not null,
    text            text,
    read_at         timestamptz not null,
    primary key (organization_id, waba_id, name, language)
);

-- The statuses that the provider has reported, each once. A status can arrive before the message has its provider_message_id.
create table neoapi.whatsapp_status (
    organization_id     text collate "C" not null,
    provider_message_id text collate "C" not null,
    status              text not null check (status in ('sent', 'delivered', 'read', 'failed')),
    occurred_at         timestamptz not null,
    error_code          int,
    error_title         text,
    contact_wa_id       text collate "C",
    contact_bsuid       text collate "C",
    primary key (organization_id, provider_message_id, status)
);

grant select (organization_id, id, phone_number_id, waba_id, app_secret, verify_token_hash) on neoapi.whatsapp_number to :runtime;
