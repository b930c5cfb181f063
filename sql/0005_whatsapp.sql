-- Creates the tables of WhatsApp: numbers, leads, conversations, messages, opt-outs; and functions that return them as JSON.
--
-- The runtime role has no privileges on these tables, except to look up a number by the provider's id. It calls the security
-- definer functions here and in the next two files. Administrators create numbers and leads with neoapictl.

-- A phone number for comparisons: WhatsApp reports Brazilian mobile numbers with and without their ninth digit.
create function neoapi.whatsapp_phone_key(wa_id text) returns text
    language sql immutable strict parallel safe
    return case when wa_id ~ '^55[1-9][1-9]9[6-9][0-9]{7}$' then left(wa_id, 4) || right(wa_id, 8) else wa_id end;

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
    created_at      timestamptz not null default now(),
    representation  text not null, -- as neoapictl exports it
    primary key (organization_id, id),
    -- API clients can delete parties but not leads.
    foreign key (organization_id, party_id) references neoapi.party (organization_id, id) on delete set null (party_id)
);
create unique index lead_phone_key on neoapi.lead (organization_id, neoapi.whatsapp_phone_key(phone));
create index lead_party on neoapi.lead (organization_id, party_id) where party_id is not null;

-- The fields and their order are those of src/model/lead.c. The plus sign makes the country code explicit for the import.
create function neoapi.lead_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := json_strip_nulls(row_to_json(r)) from (select
        new.id,
        new.name,
        '+' || new.phone as phone,
        new.email,
        new.party_id,
        new.organization_id,
        neoapi.format_timestamp(new.created_at) as created_at) r;
    return new;
end $$;
-- Not named set_representation: neoapictl doctor expects the runtime role to have privileges on tables with a trigger of that
-- name.
create trigger set_lead_representation before insert or update on neoapi.lead
    for each row execute function neoapi.lead_set_representation();

-- ---------------------------------------------------------------- conversations and messages

create table neoapi.whatsapp_conversation (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id like 'wac\_%' and octet_length(id) = 30),
    number_id       text collate "C" not null,
    contact_wa_id   text collate "C",
    contact_bsuid   text collate "C", -- the provider's business-scoped user id
    contact_name    text,
    triage          text not null check (triage in ('pending', 'assigned', 'dismissed')),
    lead_id         text collate "C",
    last_inbound_at timestamptz,
    unread_count    int not null default 0,
    last_read_at    timestamptz,
    opted_out_at    timestamptz,
    preference_at   timestamptz, -- when the contact last sent stop or resume
    held            boolean not null default false,
    is_provisional  boolean not null default false, -- created by a request that failed, so that no response has reported it
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    primary key (organization_id, id),
    foreign key (organization_id, number_id) references neoapi.whatsapp_number (organization_id, id),
    foreign key (organization_id, lead_id) references neoapi.lead (organization_id, id),
    check (contact_wa_id is not null or contact_bsuid is not null)
);
create unique index whatsapp_conversation_wa_id_key
    on neoapi.whatsapp_conversation (organization_id, number_id, neoapi.whatsapp_phone_key(contact_wa_id))
    where contact_wa_id is not null;
create unique index whatsapp_conversation_bsuid_key
    on neoapi.whatsapp_conversation (organization_id, number_id, contact_bsuid) where contact_bsuid is not null;
create index whatsapp_conversation_lead on neoapi.whatsapp_conversation (organization_id, lead_id, number_id)
    where lead_id is not null;

create table neoapi.whatsapp_message (
    organization_id      text collate "C" not null,
    id                   text collate "C" not null check (id like 'wam\_%' and octet_length(id) = 30),
    conversation_id      text collate "C" not null,
    direction            text not null check (direction in ('inbound', 'outbound')),
    source               text not null check (source in ('webhook', 'api')),
    provider_message_id  text collate "C",
    type                 text not null,
    body                 text,
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
create index whatsapp_message_conversation on neoapi.whatsapp_message (organization_id, conversation_id, occurred_at, id);

-- The statuses that the provider has reported, each once. A status can arrive before the message has its provider_message_id.
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

-- The fields and their order are those of src/model/opt_out.c.
create function neoapi.whatsapp_opt_out_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := json_strip_nulls(row_to_json(r)) from (select
        new.id,
        new.phone_number_id,
        '+' || new.contact_phone as contact_phone,
        new.contact_bsuid,
        new.lead_id,
        neoapi.format_timestamp(new.opted_out_at) as opted_out_at,
        neoapi.format_timestamp(new.preference_at) as preference_at,
        new.organization_id) r;
    return new;
end $$;
create trigger set_opt_out_representation before insert or update on neoapi.whatsapp_opt_out
    for each row execute function neoapi.whatsapp_opt_out_set_representation();

-- Whether the opt-out is of the conversation's contact.
create function neoapi.whatsapp_opt_out_matches(o neoapi.whatsapp_opt_out, c neoapi.whatsapp_conversation) returns boolean
    language sql immutable parallel safe
    return neoapi.whatsapp_phone_key((o).contact_phone) = neoapi.whatsapp_phone_key((c).contact_wa_id)
        or (o).contact_bsuid = (c).contact_bsuid or (o).lead_id = (c).lead_id;

-- The latest opt-out that counts for a conversation, or null.
create function neoapi.whatsapp_latest_opt_out(c neoapi.whatsapp_conversation) returns neoapi.whatsapp_opt_out
    language sql stable
    as $$
        select o from neoapi.whatsapp_opt_out o
        where o.organization_id = c.organization_id and neoapi.whatsapp_opt_out_matches(o, c)
          and not exists (
              select from neoapi.whatsapp_number n
              where n.organization_id = c.organization_id and n.phone_number_id = o.phone_number_id and n.id <> c.number_id)
        order by greatest(o.preference_at, o.opted_out_at) desc limit 1
    $$;

-- Copies the contact's latest opt-out into a conversation that is inserted or updated. Sending updates the conversation first,
-- so that an opt-out that was imported just before prevents the message.
create function neoapi.whatsapp_apply_opt_out() returns trigger language plpgsql as $$
declare
    opt_out neoapi.whatsapp_opt_out := neoapi.whatsapp_latest_opt_out(new);
    latest timestamptz := new.preference_at;
begin
    if tg_op = 'UPDATE' then
        latest := coalesce(latest, old.opted_out_at);
        if opt_out.id is null and (old.contact_wa_id, old.contact_bsuid, old.lead_id) -- the contact's number has changed
            is distinct from (new.contact_wa_id, new.contact_bsuid, new.lead_id) then
            opt_out := neoapi.whatsapp_latest_opt_out(old);
        end if;
    end if;
    if greatest(opt_out.preference_at, opt_out.opted_out_at) > coalesce(latest, '-infinity') then
        new.opted_out_at := opt_out.opted_out_at;
        new.preference_at := greatest(opt_out.preference_at, opt_out.opted_out_at);
    end if;
    return new;
end $$;
create trigger apply_opt_out before insert or update on neoapi.whatsapp_conversation
    for each row when (new.opted_out_at is null) execute function neoapi.whatsapp_apply_opt_out();

-- Replaces the contact's older opt-outs by the conversation's own. A resume, or deleting the conversation, deletes them.
-- Opt-outs of other conversations with the same lead remain.
create function neoapi.whatsapp_sync_opt_out() returns trigger language plpgsql as $$
declare
    c neoapi.whatsapp_conversation;
    number text;
begin
    if tg_op = 'INSERT' then
        c := new;
    else
        c := old;
    end if;
    select n.phone_number_id into number from neoapi.whatsapp_number n
    where n.organization_id = c.organization_id and n.id = c.number_id;
    delete from neoapi.whatsapp_opt_out o
    where o.organization_id = c.organization_id and o.phone_number_id = number and neoapi.whatsapp_opt_out_matches(o, c)
      and (tg_op = 'DELETE'
           or greatest(o.preference_at, o.opted_out_at) <= coalesce(new.preference_at, new.opted_out_at, c.opted_out_at))
      and not exists (
          select from neoapi.whatsapp_conversation x
          where x.organization_id = c.organization_id and x.id = 'wac_' || right(o.id, 26) and x.id <> c.id
            and x.opted_out_at is not null);
    if tg_op <> 'DELETE' and new.opted_out_at is not null then
        insert into neoapi.whatsapp_opt_out
            (organization_id, id, phone_number_id, contact_phone, contact_bsuid, lead_id, opted_out_at, preference_at)
        values (new.organization_id, 'wao_' || right(new.id, 26), number, new.contact_wa_id, new.contact_bsuid, new.lead_id,
                new.opted_out_at, nullif(new.preference_at, new.opted_out_at))
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
create trigger sync_opt_out_on_delete after delete on neoapi.whatsapp_conversation
    for each row execute function neoapi.whatsapp_sync_opt_out();

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

-- ---------------------------------------------------------------- JSON, as the API returns it

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
        neoapi.format_timestamp((m).status_at) as status_at,
        (m).error_code,
        (m).error_title,
        (m).actor_id,
        (m).actor_type,
        neoapi.format_timestamp((m).occurred_at) as occurred_at) r);

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
        neoapi.format_timestamp((c).last_inbound_at) as last_inbound_at,
        neoapi.format_timestamp(m.occurred_at) as last_message_at,
        case when m.id is not null then json_build_object(
            'id', m.id,
            'direction', m.direction,
            'type', m.type,
            'body', m.body,
            'status', m.status,
            'occurred_at', neoapi.format_timestamp(m.occurred_at)) end as last_message,
        (c).unread_count,
        neoapi.format_timestamp((c).last_read_at) as last_read_at,
        neoapi.format_timestamp((c).opted_out_at) as opted_out_at,
        coalesce(now() < (c).last_inbound_at + interval '24 hours', false) as window_open,
        neoapi.format_timestamp((c).last_inbound_at + interval '24 hours') as window_expires_at,
        (c).held,
        neoapi.format_timestamp((c).created_at) as created_at,
        neoapi.format_timestamp((c).updated_at) as updated_at
        from neoapi.whatsapp_number n
        left join neoapi.lead l on l.organization_id = (c).organization_id and l.id = (c).lead_id
        left join lateral (select * from neoapi.whatsapp_message x
                           where x.organization_id = (c).organization_id and x.conversation_id = (c).id
                           order by x.occurred_at desc, x.id desc limit 1) m on true
        where n.organization_id = (c).organization_id and n.id = (c).number_id) r);

-- The response to a request that sends a message, with the current state of the conversation and the message.
create function neoapi.whatsapp_response(organization text, message text) returns text
    language sql stable security definer set search_path = pg_catalog, pg_temp
    return (select json_strip_nulls(json_build_object(
            'conversation', neoapi.whatsapp_conversation_json(c),
            'message', neoapi.whatsapp_message_json(m),
            'created', m.created_conversation))::text
        from neoapi.whatsapp_message m
        join neoapi.whatsapp_conversation c on c.organization_id = m.organization_id and c.id = m.conversation_id
        where m.organization_id = organization and m.id = message);

revoke execute on function neoapi.whatsapp_response from public;
grant execute on function neoapi.whatsapp_response to :runtime;
