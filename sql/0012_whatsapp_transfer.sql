-- SPDX-License-Identifier: Apache-2.0
-- Creates the functions that export and import conversations, with the identities of their contacts, and messages. An import adds
-- what is missing and changes nothing that exists. The fields are those of src/resources/whatsapp_transfer.c.

create function neoapi.whatsapp_identity_json(i neoapi.whatsapp_identity) returns json
    language sql stable parallel safe
    return json_build_object(
        'source', (i).source,
        'kind', (i).kind,
        'at', neoapi.format_timestamp((i).at),
        'wa_id', (i).wa_id,
        'bsuid', (i).bsuid,
        'link', (i).link,
        'name', (i).name,
        'lead_id', (i).lead_id,
        'preference', (i).preference,
        'preference_at', neoapi.format_timestamp((i).preference_at));

-- Without the identities that messages report, which are exported with them.
create function neoapi.whatsapp_export_conversation(c neoapi.whatsapp_conversation) returns text
    language sql stable parallel safe
    return (select json_strip_nulls(row_to_json(r))::text from (select
        (c).id,
        n.phone_number_id,
        (c).contact_wa_id,
        (c).contact_bsuid,
        (c).contact_name,
        (c).triage,
        neoapi.format_timestamp((c).triage_at) as triage_at,
        (c).lead_id,
        neoapi.format_timestamp((c).last_inbound_at) as last_inbound_at,
        (c).unread_count,
        neoapi.format_timestamp((c).last_read_at) as last_read_at,
        neoapi.format_timestamp((c).opted_out_at) as opted_out_at,
        neoapi.format_timestamp((c).preference_at) as preference_at,
        neoapi.format_timestamp((c).imported_stop_from) as imported_stop_from,
        neoapi.format_timestamp((c).imported_stop_last) as imported_stop_last,
        neoapi.format_timestamp((c).recorded_stop_at) as recorded_stop_at,
        (c).held,
        (c).is_provisional,
        (select json_agg(neoapi.whatsapp_identity_json(i) order by i.id) from neoapi.whatsapp_identity i
         where i.organization_id = (c).organization_id and i.conversation_id = (c).id
           and not (i.source like 'message %' and exists (
               select from neoapi.whatsapp_message m
               where m.organization_id = i.organization_id and m.provider_message_id = substr(i.source, 9)
                 and m.identity_id = i.id))) as identities,
        (select m.provider_message_id from neoapi.whatsapp_message m
         where m.organization_id = (c).organization_id and m.conversation_id = (c).id and m.provider_message_id is not null
         order by m.id desc limit 1) as last_provider_message_id,
        (c).organization_id,
        neoapi.format_timestamp((c).created_at) as created_at,
        neoapi.format_timestamp((c).updated_at) as updated_at
        from neoapi.whatsapp_number n where n.organization_id = (c).organization_id and n.id = (c).number_id) r);

create function neoapi.whatsapp_export_message(m neoapi.whatsapp_message) returns text
    language sql stable parallel safe
    return (select json_strip_nulls(row_to_json(r))::text from (select
        (m).id,
        (m).conversation_id,
        (m).direction,
        (m).source,
        (m).recipient_wa_id,
        (m).recipient_bsuid,
        (m).provider_message_id,
        (m).refers_to,
        (m).type,
        (m).is_group,
        (m).body,
        neoapi.format_timestamp((m).edited_at) as edited_at,
        neoapi.format_timestamp((m).revoked_at) as revoked_at,
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
        neoapi.format_timestamp((m).occurred_at) as occurred_at,
        (m).created_conversation,
        i.source as identity_source,
        case when i.source = 'message ' || (m).provider_message_id then neoapi.whatsapp_identity_json(i) end as identity,
        (m).organization_id
        from (select) one
        left join neoapi.whatsapp_identity i on i.id = (m).identity_id) r);

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
        where l.organization_id = organization and l.id = i.lead_id and l.phone = split_part(i.source, ' ', 3)
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
