-- SPDX-License-Identifier: Apache-2.0
-- Creates the functions that store the messages, statuses and preferences of the provider's callbacks.
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
    has_media       boolean,
    is_group        boolean,
    refers_to       text,   -- of the types edit and revoke: the id of the message that is changed
    status          text,
    error_code      int,
    error_title     text,
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

-- Inserts messages and updates their conversations. Returns the ids of the new messages.
create function neoapi.whatsapp_insert_messages(items neoapi.whatsapp_callback_item[], id_block text) returns text[]
    language sql volatile
    as $$
        with inserted as (
            insert into neoapi.whatsapp_message (organization_id, id, conversation_id, identity_id, direction, source,
                provider_message_id, refers_to, type, is_group, body, media_mime_type, media_filename, has_media, status, status_at,
                occurred_at)
            select u.organization_id, neoapi.block_id(id_block, u.n), i.conversation_id, i.id, 'inbound', 'webhook', u.id,
                   u.refers_to, u.type, coalesce(u.is_group, false), u.body, u.mime_type, u.filename, u.has_media, 'received', now(),
                   least(neoapi.whatsapp_timestamp(u.at), now())
            from unnest(items) u
            join neoapi.whatsapp_identity i
                on i.organization_id = u.organization_id and i.number_id = u.number_id and i.source = 'message ' || u.id
            where u.kind = 'message' order by u.n
            on conflict do nothing
            returning organization_id, id, conversation_id, occurred_at, type, is_group),
        updated as (
            update neoapi.whatsapp_conversation c
            set last_inbound_at = greatest(c.last_inbound_at, t.last), unread_count = c.unread_count + t.count,
                updated_at = now(), is_provisional = false
            from (select organization_id, conversation_id, count(*) filter (where neoapi.whatsapp_is_new_message(type))::int as count,
                         max(occurred_at) filter (where neoapi.whatsapp_is_new_message(type) and not is_group) as last
                  from inserted group by organization_id, conversation_id) t
            where c.organization_id = t.organization_id and c.id = t.conversation_id)
        select array(select id from inserted)
    $$;

-- Applies the latest edit or revocation of each message to it. Either can arrive first. Only the sender can change a message. A
-- revoked message has no edit, so that an edit that arrives later changes nothing.
-- Returns the ids of the messages that change.
create function neoapi.whatsapp_apply_edits(items neoapi.whatsapp_callback_item[]) returns text[]
    language sql volatile
    as $$
        with change as materialized ( -- without organization_id, so that the index of refers_to is used
            select x.organization_id, x.conversation_id, x.refers_to as id,
                   (array_agg(x.body order by x.occurred_at desc, x.id desc) filter (where x.type = 'edit'))[1] as body,
                   case when not bool_or(x.type = 'revoke') then max(x.occurred_at) filter (where x.type = 'edit') end as edited_at,
                   min(x.occurred_at) filter (where x.type = 'revoke') as revoked_at
            from neoapi.whatsapp_message x
            where x.refers_to = any (array(select coalesce(u.refers_to, u.id) from unnest(items) u where u.kind = 'message'))
            group by x.organization_id, x.conversation_id, x.refers_to),
        changed as (
            update neoapi.whatsapp_message o
            set body = case when e.revoked_at is null then e.body end, has_media = o.has_media and e.revoked_at is null,
                edited_at = e.edited_at, revoked_at = e.revoked_at
            from change e
            where o.organization_id = e.organization_id and o.provider_message_id = e.id and o.direction = 'inbound'
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
        contact_wa_id, contact_bsuid)
    select u.organization_id, u.id, u.status, least(neoapi.whatsapp_timestamp(u.at), now()), u.error_code, u.error_title, u.wa_id,
           u.bsuid
    from unnest(items) u where u.kind = 'status' order by u.organization_id, u.id, u.status, u.n
    on conflict do nothing;
    get diagnostics count = row_count;
    with target as (
        select distinct on (m.organization_id, m.id) m.organization_id, m.id, m.conversation_id, u.id as provider_id, u.status,
               least(neoapi.whatsapp_timestamp(u.at), now()) as at, u.error_code, u.error_title
        from unnest(items) u cross join lateral neoapi.whatsapp_status_message(u) m
        where u.kind = 'status'
        order by m.organization_id, m.id, neoapi.whatsapp_status_rank(u.status) desc, u.n),
    updated as (
        update neoapi.whatsapp_message m
        set provider_message_id = coalesce(m.provider_message_id, (select t.provider_id where not exists (
                select from neoapi.whatsapp_message o
                where o.organization_id = t.organization_id and o.provider_message_id = t.provider_id))),
            status = t.status, status_at = t.at, error_code = t.error_code, error_title = t.error_title
        from target t
        where m.organization_id = t.organization_id and m.id = t.id
          and neoapi.whatsapp_status_rank(t.status) > neoapi.whatsapp_status_rank(m.status)
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
    edited := neoapi.whatsapp_apply_edits(items);
    select s.count, s.changed into status_count, delivered from neoapi.whatsapp_apply_statuses(items) s;
    message_count := cardinality(received);
    delivery_count := neoapi.whatsapp_add_message_events(array(select u.organization_id from unnest(items) u), received,
                                                         edited || delivered)
                    + neoapi.whatsapp_add_preference_events(array(select u.number_id from unnest(items) u), known);
end $$;

revoke execute on function neoapi.whatsapp_receive from public;
grant execute on function neoapi.whatsapp_receive to :runtime;
