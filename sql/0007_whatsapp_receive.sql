-- Creates the functions that store the messages, statuses and preferences of the provider's callbacks.
--
-- One call of whatsapp_receive stores the facts of one callback. The provider repeats callbacks; a repetition changes nothing.

-- A fact of a callback, as src/model/callback.c reads it.
create type neoapi.whatsapp_fact as (
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
    has_media       boolean,
    status          text,
    error_code      int,
    error_title     text,
    preference      text,   -- stop or resume
    new_wa_id       text,
    new_bsuid       text,
    at              bigint, -- milliseconds since 1970; null: unknown
    -- set by whatsapp_receive
    organization_id text,
    number_id       text,
    conversation_id text
);

-- Locks the conversation with a fact's contact, or inserts it. A new one is assigned to the lead with the contact's number, if
-- any.
create function neoapi.whatsapp_conversation_for(fact neoapi.whatsapp_fact, new_id text) returns text
    language plpgsql volatile as $$
declare
    found_id text;
    lead neoapi.lead;
begin
    loop
        found_id := neoapi.whatsapp_find_conversation(fact.organization_id, fact.number_id, fact.wa_id, fact.bsuid);
        exit when found_id is not null;
        select l.* into lead from neoapi.lead l
        where l.organization_id = fact.organization_id
          and neoapi.whatsapp_phone_key(l.phone) = neoapi.whatsapp_phone_key(fact.wa_id);
        insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_wa_id, contact_bsuid, contact_name,
            triage, lead_id, created_at, updated_at)
        values (fact.organization_id, new_id, fact.number_id, fact.wa_id, fact.bsuid, coalesce(fact.name, lead.name),
            case when lead.id is null then 'pending' else 'assigned' end, lead.id, now(), now())
        on conflict do nothing;
    end loop;
    perform neoapi.whatsapp_update_contact(fact.organization_id, found_id, fact.wa_id, fact.bsuid, fact.name);
    return found_id;
end $$;

-- Stores a contact's new number. The business-scoped id belongs to the old number and is removed if there is no new one, unless
-- the new number differs only in its ninth digit. Ids that another conversation has are not stored.
create function neoapi.whatsapp_change_number(fact neoapi.whatsapp_fact) returns void
    language plpgsql volatile as $$
declare
    found_id text := neoapi.whatsapp_find_conversation(fact.organization_id, fact.number_id, fact.wa_id, fact.bsuid);
begin
    update neoapi.whatsapp_conversation c
    set contact_wa_id = fact.new_wa_id, updated_at = now(),
        contact_bsuid = case when neoapi.whatsapp_phone_key(fact.new_wa_id) = neoapi.whatsapp_phone_key(c.contact_wa_id)
                             then coalesce(fact.new_bsuid, c.contact_bsuid) else fact.new_bsuid end
    where c.organization_id = fact.organization_id and c.id = found_id
      and not exists (
          select from neoapi.whatsapp_conversation o
          where o.organization_id = c.organization_id and o.number_id = c.number_id and o.id <> c.id
            and neoapi.whatsapp_phone_key(o.contact_wa_id) = neoapi.whatsapp_phone_key(fact.new_wa_id))
      and not exists (
          select from neoapi.whatsapp_conversation o
          where o.organization_id = c.organization_id and o.number_id = c.number_id and o.id <> c.id
            and o.contact_bsuid = fact.new_bsuid);
end $$;

create function neoapi.whatsapp_timestamp(at bigint) returns timestamptz
    language sql stable parallel safe
    return coalesce(to_timestamp(at / 1000.0), now());

-- Inserts messages and updates their conversations. The facts have their conversation_id. Returns the number of new messages.
create function neoapi.whatsapp_insert_messages(facts neoapi.whatsapp_fact[], id_block text) returns bigint
    language sql volatile
    as $$
        with inserted as (
            insert into neoapi.whatsapp_message (organization_id, id, conversation_id, direction, source, provider_message_id, type,
                body, media_mime_type, media_filename, has_media, status, status_at, occurred_at)
            select f.organization_id, neoapi.block_id(id_block, f.n), f.conversation_id, 'inbound', 'webhook', f.id, f.type, f.body,
                   f.mime_type, f.filename, f.has_media, 'received', now(), least(neoapi.whatsapp_timestamp(f.at), now())
            from unnest(facts) f where f.kind = 'message' order by f.n
            on conflict do nothing
            returning organization_id, conversation_id, occurred_at, type),
        updated as (
            update neoapi.whatsapp_conversation c
            set last_inbound_at = greatest(c.last_inbound_at, t.last), unread_count = c.unread_count + t.count::int,
                updated_at = now(), is_provisional = false
            from (select organization_id, conversation_id, count(*) filter (where type <> 'system') as count,
                         max(occurred_at) filter (where type <> 'system') as last
                  from inserted group by organization_id, conversation_id) t
            where c.organization_id = t.organization_id and c.id = t.conversation_id)
        select count(*) from inserted
    $$;

-- Stores whether contacts have sent stop or resume. The latest counts, whatever the order of callbacks; at the same time stop
-- counts.
create function neoapi.whatsapp_apply_preferences(facts neoapi.whatsapp_fact[]) returns void
    language sql volatile
    as $$
        update neoapi.whatsapp_conversation c
        set preference_at = p.at, updated_at = now(),
            opted_out_at = case p.preference when 'stop' then coalesce(c.opted_out_at, p.at) end
        from (select distinct on (f.organization_id, f.conversation_id) f.organization_id, f.conversation_id, f.preference,
                     least(neoapi.whatsapp_timestamp(f.at), now()) as at
              from unnest(facts) f where f.preference is not null and f.conversation_id is not null
              order by f.organization_id, f.conversation_id, neoapi.whatsapp_timestamp(f.at) desc, f.preference = 'stop' desc) p
        where c.organization_id = p.organization_id and c.id = p.conversation_id
          and (c.preference_at is null or p.at > c.preference_at or (p.at = c.preference_at and p.preference = 'stop'))
    $$;

-- The conversation's latest outbound message.
create function neoapi.whatsapp_last_outbound(organization text, conversation text) returns text
    language sql stable
    as $$
        select m.id from neoapi.whatsapp_message m
        where m.organization_id = organization and m.conversation_id = conversation and m.direction = 'outbound'
        order by m.occurred_at desc, m.id desc limit 1
    $$;

-- Whether a stop at that time replaces the conversation's preference; at the same time stop counts.
create function neoapi.whatsapp_replaces_preference(stop timestamptz, c neoapi.whatsapp_conversation) returns boolean
    language sql immutable parallel safe
    return coalesce(stop > (c).preference_at or (stop = (c).preference_at and (c).opted_out_at is null),
                    stop is not null and (c).preference_at is null);

-- Inserts statuses and updates their messages and conversations. Returns the number of new statuses.
create function neoapi.whatsapp_apply_statuses(facts neoapi.whatsapp_fact[]) returns bigint
    language plpgsql volatile as $$
declare
    count bigint;
begin
    perform from neoapi.whatsapp_conversation c
    where (c.organization_id, c.id) in (
        select m.organization_id, m.conversation_id from unnest(facts) f
        join neoapi.whatsapp_message m on m.organization_id = f.organization_id and m.provider_message_id = f.id
        where f.kind = 'status'
        union
        select m.organization_id, m.conversation_id from unnest(facts) f
        join neoapi.whatsapp_message m on m.organization_id = f.organization_id and m.id = f.message
        where f.kind = 'status')
    order by c.organization_id, c.id for update;
    insert into neoapi.whatsapp_status (organization_id, provider_message_id, status, occurred_at, error_code, error_title)
    select f.organization_id, f.id, f.status, least(neoapi.whatsapp_timestamp(f.at), now()), f.error_code, f.error_title
    from unnest(facts) f where f.kind = 'status' order by f.organization_id, f.id, f.status, f.n
    on conflict do nothing;
    get diagnostics count = row_count;
    -- If a message has no provider_message_id yet, whatsapp_finish takes the same lock before it stores the id and reads the
    -- statuses.
    perform neoapi.whatsapp_lock('neoapi.whatsapp_status', array(
        select f.id from unnest(facts) f
        where f.kind = 'status' and not exists (select from neoapi.whatsapp_message m
            where m.organization_id = f.organization_id and m.provider_message_id = f.id)));
    with target as (
        select distinct on (m.organization_id, m.id) m.organization_id, m.id, m.conversation_id, f.id as provider_id, f.status,
               least(neoapi.whatsapp_timestamp(f.at), now()) as at, f.error_code, f.error_title, f.wa_id, f.bsuid
        from unnest(facts) f cross join lateral (
            select x.* from neoapi.whatsapp_message x
            where x.organization_id = f.organization_id and x.provider_message_id = f.id and x.direction = 'outbound'
            union
            select x.* from neoapi.whatsapp_message x
            where x.organization_id = f.organization_id and x.id = f.message and x.direction = 'outbound'
              and x.provider_message_id is null) m
        where f.kind = 'status'
        order by m.organization_id, m.id, neoapi.whatsapp_status_rank(f.status) desc, f.n),
    updated as (
        update neoapi.whatsapp_message m
        set provider_message_id = coalesce(m.provider_message_id, (select t.provider_id where not exists (
                select from neoapi.whatsapp_message o
                where o.organization_id = t.organization_id and o.provider_message_id = t.provider_id))),
            status = t.status, status_at = t.at, error_code = t.error_code, error_title = t.error_title
        from target t
        where m.organization_id = t.organization_id and m.id = t.id
          and neoapi.whatsapp_status_rank(t.status) > neoapi.whatsapp_status_rank(m.status))
    -- Error 131050 means that the contact has sent stop to the provider; repetitions must not overwrite a later resume.
    update neoapi.whatsapp_conversation c
    set held = c.held and not neoapi.whatsapp_last_outbound(c.organization_id, c.id) = any (t.messages), updated_at = now(),
        opted_out_at = case when neoapi.whatsapp_replaces_preference(t.stopped_at, c) then coalesce(c.opted_out_at, t.stopped_at)
                            else c.opted_out_at end,
        preference_at = case when neoapi.whatsapp_replaces_preference(t.stopped_at, c) then t.stopped_at else c.preference_at end
    from (select organization_id, conversation_id, array_agg(id) as messages,
                 max(at) filter (where status = 'failed' and error_code = 131050) as stopped_at
          from target group by organization_id, conversation_id) t
    where c.organization_id = t.organization_id and c.id = t.conversation_id
      and ((c.held and neoapi.whatsapp_last_outbound(c.organization_id, c.id) = any (t.messages))
           or neoapi.whatsapp_replaces_preference(t.stopped_at, c));
    return count;
end $$;

-- Stores the business-scoped ids that statuses report for contacts without one. If another conversation has the id, its
-- preference is copied instead.
create function neoapi.whatsapp_apply_contact_ids(facts neoapi.whatsapp_fact[]) returns void
    language plpgsql volatile as $$
declare
    contact record;
begin
    for contact in
        select distinct c.organization_id, c.id, c.number_id, f.bsuid
        from unnest(facts) f
        join neoapi.whatsapp_message m on m.organization_id = f.organization_id and m.provider_message_id = f.id
        join neoapi.whatsapp_conversation c on c.organization_id = m.organization_id and c.id = m.conversation_id
        where f.kind = 'status' and f.bsuid is not null and m.direction = 'outbound' and c.contact_bsuid is null
          and (f.wa_id is null or neoapi.whatsapp_phone_key(f.wa_id) = neoapi.whatsapp_phone_key(c.contact_wa_id))
        order by c.organization_id, c.id
    loop
        perform neoapi.whatsapp_update_contact(contact.organization_id, contact.id, null, contact.bsuid, null);
        update neoapi.whatsapp_conversation c
        set opted_out_at = o.opted_out_at, preference_at = o.preference_at, updated_at = now()
        from neoapi.whatsapp_conversation o
        where c.organization_id = contact.organization_id and c.id = contact.id
          and o.organization_id = c.organization_id and o.number_id = c.number_id and o.contact_bsuid = contact.bsuid
          and o.id <> c.id and (c.preference_at is null or o.preference_at > c.preference_at) and o.preference_at is not null;
    end loop;
end $$;

-- Identifies a fact's contact within one callback.
create function neoapi.whatsapp_contact_key(fact neoapi.whatsapp_fact) returns text
    language sql immutable parallel safe
    return concat_ws(' ', fact.number_id, coalesce(fact.wa_id, '-'), fact.bsuid);

-- The contact's old and new ids, as names for whatsapp_lock.
create function neoapi.whatsapp_contact_names(fact neoapi.whatsapp_fact) returns text[]
    language sql immutable parallel safe
    return array[fact.number_id || neoapi.whatsapp_phone_key(fact.wa_id), fact.number_id || fact.bsuid,
                 fact.number_id || neoapi.whatsapp_phone_key(fact.new_wa_id), fact.number_id || fact.new_bsuid];

-- Stores the facts (a JSON array) of the given numbers. conversation_block and message_block are reserved blocks of ids.
create function neoapi.whatsapp_receive(callback_facts json, numbers text[], conversation_block text, message_block text,
                                        out message_count bigint, out status_count bigint)
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    facts neoapi.whatsapp_fact[];
    fact neoapi.whatsapp_fact;
    contacts text[] := '{}';
    conversations text[] := '{}'; -- of these contacts
begin
    facts := array(
        select json_populate_record(f, json_build_object('organization_id', w.organization_id, 'number_id', w.id))
        from json_populate_recordset(null::neoapi.whatsapp_fact, callback_facts) f
        join neoapi.whatsapp_number w on w.phone_number_id = f.phone_number_id and w.id = any (numbers)
        order by f.n);
    perform neoapi.whatsapp_lock('neoapi.whatsapp_contact', array(
        select c.name from unnest(facts) f, unnest(neoapi.whatsapp_contact_names(f)) c (name)));
    -- Skip messages that are stored: a contact whose number has changed since would get a new conversation with the old number.
    facts := array(
        select f from unnest(facts) f
        where f.kind not in ('message', 'number_changed') or not exists (
            select from neoapi.whatsapp_message m where m.organization_id = f.organization_id and m.provider_message_id = f.id)
        order by f.n);
    -- In their order, because after number_changed the contact is no longer found by the old number.
    for fact in
        select (one.f).* from (
            select f, row_number() over (partition by neoapi.whatsapp_contact_key(f), f.kind = 'number_changed' order by f.n) as nth
            from unnest(facts) f where f.kind <> 'status') one
        where one.nth = 1 or (one.f).kind = 'number_changed' order by (one.f).n
    loop
        if fact.kind = 'number_changed' then
            perform neoapi.whatsapp_change_number(fact);
        else
            contacts := contacts || neoapi.whatsapp_contact_key(fact);
            conversations := conversations || neoapi.whatsapp_conversation_for(fact, neoapi.block_id(conversation_block, fact.n));
        end if;
    end loop;
    facts := array(
        select json_populate_record(f, json_build_object('conversation_id', k.conversation_id))
        from unnest(facts) f left join unnest(contacts, conversations) k (contact, conversation_id)
            on k.contact = neoapi.whatsapp_contact_key(f) and f.kind <> 'status'
        order by f.n);
    message_count := neoapi.whatsapp_insert_messages(facts, message_block);
    perform neoapi.whatsapp_apply_preferences(facts);
    status_count := neoapi.whatsapp_apply_statuses(facts);
    perform neoapi.whatsapp_apply_contact_ids(facts);
end $$;

revoke execute on function neoapi.whatsapp_receive from public;
grant execute on function neoapi.whatsapp_receive to :runtime;
