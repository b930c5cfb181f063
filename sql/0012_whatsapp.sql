-- WhatsApp: the numbers that organizations write from, the leads they write to, and what was said.
--
-- Nobody reads or writes these tables but the functions here and in the next two migrations, which belong to the schema's owner: the
-- runtime role may call them, and look a number up by what the provider calls it. Administrators make numbers and leads with
-- neoapictl.

-- A number as two spellings of the same one are compared: Brazilian mobiles are known with and without their ninth digit.
create function neoapi.whatsapp_folded(wa_id text) returns text
    language sql immutable strict parallel safe
    return case when wa_id ~ '^55[1-9][1-9]9[6-9][0-9]{7}$' then left(wa_id, 4) || right(wa_id, 8) else wa_id end;

-- A status only ever rises, whatever order it is told of in: `failed` stands below what only a message that arrived can have.
create function neoapi.whatsapp_rank(status text) returns int
    language sql immutable strict parallel safe
    return array_position(array['pending', 'accepted', 'sent', 'failed', 'delivered', 'read'], status);

-- ---------------------------------------------------------------- tables

-- The secrets are sealed with the deployment's key, the row's id as their context. The provider names a number by
-- phone_number_id alone, so that no two organizations can have the same.
create table neoapi.whatsapp_number (
    organization_id      text collate "C" not null references neoapi.organization (id),
    id                   text collate "C" not null check (id ~ '^wan_[0-9a-hjkmnp-tv-z]{26}$'),
    phone_number_id      text collate "C" not null check (phone_number_id ~ '^[0-9]{5,20}$'),
    waba_id              text collate "C" not null check (waba_id ~ '^[0-9]{5,20}$'),
    display_phone_number text not null check (length(display_phone_number) between 1 and 200),
    access_token         text not null,
    app_secret           text not null,
    verify_token_hash    bytea not null check (length(verify_token_hash) = 32),
    created_at           timestamptz not null default now(),
    primary key (organization_id, id)
);
create unique index whatsapp_number_phone_number_id_key on neoapi.whatsapp_number (phone_number_id);
create index whatsapp_number_waba_id on neoapi.whatsapp_number (waba_id);
create index whatsapp_number_verify_token on neoapi.whatsapp_number (verify_token_hash);

create table neoapi.lead (
    organization_id text collate "C" not null references neoapi.organization (id),
    id              text collate "C" not null check (id ~ '^led_[0-9a-hjkmnp-tv-z]{26}$'),
    name            text not null check (length(name) between 1 and 200),
    phone           text collate "C" not null check (phone ~ '^[1-9][0-9]{7,14}$'),
    email           text check (length(email) between 3 and 254),
    party_id        text collate "C",
    created_at      timestamptz not null default now(),
    primary key (organization_id, id),
    -- A client that deletes a party knows nothing of leads, and could not change them.
    foreign key (organization_id, party_id) references neoapi.party (organization_id, id) on delete set null (party_id)
);
create unique index lead_phone_key on neoapi.lead (organization_id, neoapi.whatsapp_folded(phone));
create index lead_party on neoapi.lead (organization_id, party_id) where party_id is not null;

create table neoapi.whatsapp_conversation (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id ~ '^wac_[0-9a-hjkmnp-tv-z]{26}$'),
    number_id       text collate "C" not null,
    contact_wa_id   text collate "C",
    contact_bsuid   text collate "C",
    contact_name    text,
    triage          text not null check (triage in ('pending', 'assigned', 'dismissed')),
    lead_id         text collate "C",
    last_inbound_at timestamptz,
    unread_count    int not null default 0,
    last_read_at    timestamptz,
    opted_out_at    timestamptz,
    preference_at   timestamptz, -- when the contact last said stop or resume
    held            boolean not null default false,
    is_new          boolean not null default false, -- made by a request that came to nothing, so that nobody was told of it
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    primary key (organization_id, id),
    foreign key (organization_id, number_id) references neoapi.whatsapp_number (organization_id, id),
    foreign key (organization_id, lead_id) references neoapi.lead (organization_id, id),
    check (contact_wa_id is not null or contact_bsuid is not null)
);
create unique index whatsapp_conversation_wa_id_key
    on neoapi.whatsapp_conversation (organization_id, number_id, neoapi.whatsapp_folded(contact_wa_id))
    where contact_wa_id is not null;
create unique index whatsapp_conversation_bsuid_key
    on neoapi.whatsapp_conversation (organization_id, number_id, contact_bsuid) where contact_bsuid is not null;
create index whatsapp_conversation_lead on neoapi.whatsapp_conversation (organization_id, lead_id, number_id)
    where lead_id is not null;

create table neoapi.whatsapp_message (
    organization_id     text collate "C" not null,
    id                  text collate "C" not null check (id ~ '^wam_[0-9a-hjkmnp-tv-z]{26}$'),
    conversation_id     text collate "C" not null,
    direction           text not null check (direction in ('inbound', 'outbound')),
    source              text not null check (source in ('webhook', 'api')),
    provider_message_id text collate "C",
    type                text not null,
    body                text,
    template_name       text,
    template_language   text,
    media_mime_type     text,
    media_filename      text,
    has_media           boolean not null default false,
    status              text not null check (status in ('received', 'pending', 'accepted', 'sent', 'delivered', 'read', 'failed')),
    status_at           timestamptz not null,
    error_code          int,
    error_title         text,
    actor_id            text collate "C",
    actor_type          text check (actor_type in ('user', 'api_key', 'system')),
    occurred_at         timestamptz not null,
    is_first            boolean not null default false, -- its request made the conversation
    primary key (organization_id, id),
    foreign key (organization_id, conversation_id) references neoapi.whatsapp_conversation (organization_id, id)
);
create unique index whatsapp_message_provider_message_id_key
    on neoapi.whatsapp_message (organization_id, provider_message_id) where provider_message_id is not null;
create index whatsapp_message_of_conversation on neoapi.whatsapp_message (organization_id, conversation_id, occurred_at, id);

-- What the provider told of messages, each status once: it may come before the message is known by the provider's id.
create table neoapi.whatsapp_status (
    organization_id     text collate "C" not null,
    provider_message_id text collate "C" not null,
    status              text not null check (status in ('sent', 'delivered', 'read', 'failed')),
    occurred_at         timestamptz not null,
    error_code          int,
    error_title         text,
    primary key (organization_id, provider_message_id, status)
);

grant select (organization_id, id, phone_number_id, waba_id, app_secret, verify_token_hash) on neoapi.whatsapp_number to :runtime;

-- ---------------------------------------------------------------- as the API answers them

-- The fields, their order and their meaning are those of src/model/whatsapp.c.
create function neoapi.whatsapp_message_json(m neoapi.whatsapp_message) returns json
    language sql stable parallel safe
    return (select json_strip_nulls(row_to_json(r)) from (select
        (m).id,
        (m).conversation_id,
        (m).direction,
        (m).source,
        (m).provider_message_id,
        (m).type,
        (m).body,
        (m).template_name,
        (m).template_language,
        (m).media_mime_type,
        (m).media_filename,
        (m).has_media,
        (m).status,
        neoapi.instant((m).status_at) as status_at,
        (m).error_code,
        (m).error_title,
        (m).actor_id,
        (m).actor_type,
        neoapi.instant((m).occurred_at) as occurred_at) r);

create function neoapi.whatsapp_conversation_json(c neoapi.whatsapp_conversation) returns json
    language sql stable parallel safe
    return (select json_strip_nulls(row_to_json(r)) from (select
        (c).id,
        (c).number_id,
        n.display_phone_number as number_display_phone_number,
        l.party_id,
        (c).contact_wa_id,
        (c).contact_bsuid,
        (c).contact_name,
        (c).triage,
        (c).lead_id,
        neoapi.instant((c).last_inbound_at) as last_inbound_at,
        neoapi.instant(m.occurred_at) as last_message_at,
        case when m.id is not null then json_build_object(
            'id', m.id,
            'direction', m.direction,
            'type', m.type,
            'body', m.body,
            'status', m.status,
            'occurred_at', neoapi.instant(m.occurred_at)) end as last_message,
        (c).unread_count,
        neoapi.instant((c).last_read_at) as last_read_at,
        neoapi.instant((c).opted_out_at) as opted_out_at,
        coalesce(now() < (c).last_inbound_at + interval '24 hours', false) as window_open,
        neoapi.instant((c).last_inbound_at + interval '24 hours') as window_expires_at,
        (c).held,
        neoapi.instant((c).created_at) as created_at,
        neoapi.instant((c).updated_at) as updated_at
        from neoapi.whatsapp_number n
        left join neoapi.lead l on l.organization_id = (c).organization_id and l.id = (c).lead_id
        left join lateral (select * from neoapi.whatsapp_message x
                           where x.organization_id = (c).organization_id and x.conversation_id = (c).id
                           order by x.occurred_at desc, x.id desc limit 1) m on true
        where n.organization_id = (c).organization_id and n.id = (c).number_id) r);

-- What a request that began a message is answered with, as things are now.
create function neoapi.whatsapp_answer(organization text, message text) returns text
    language sql stable security definer set search_path = pg_catalog, pg_temp
    return (select json_strip_nulls(json_build_object(
            'conversation', neoapi.whatsapp_conversation_json(c),
            'message', neoapi.whatsapp_message_json(m),
            'created', m.is_first))::text
        from neoapi.whatsapp_message m
        join neoapi.whatsapp_conversation c on c.organization_id = m.organization_id and c.id = m.conversation_id
        where m.organization_id = organization and m.id = message);

revoke execute on function neoapi.whatsapp_answer from public;
grant execute on function neoapi.whatsapp_answer to :runtime;
