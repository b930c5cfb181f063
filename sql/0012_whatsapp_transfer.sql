-- SPDX-License-Identifier: Apache-2.0
-- Creates the functions that export and import conversations, with the facts about their contacts, and messages. An import adds what
-- is missing and changes nothing that exists. The fields are those of src/model/whatsapp_transfer.c.

create function neoapi.whatsapp_fact_json(i neoapi.whatsapp_identity) returns json
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

-- Without the facts that messages report, which are exported with them.
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
        (c).held,
        (c).is_provisional,
        (select json_agg(neoapi.whatsapp_fact_json(i) order by i.id) from neoapi.whatsapp_identity i
         where i.organization_id = (c).organization_id and i.conversation_id = (c).id
           and not (i.source like 'message %' and exists (
               select from neoapi.whatsapp_message m
               where m.organization_id = i.organization_id and m.provider_message_id = substr(i.source, 9)
                 and m.identity_id = i.id))) as facts,
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
        (select max(p.id) from neoapi.whatsapp_message p
         where p.organization_id = (m).organization_id and p.conversation_id = (m).conversation_id and p.id < (m).id) as previous_id,
        i.source as fact_source,
        case when i.source = 'message ' || (m).provider_message_id then neoapi.whatsapp_fact_json(i) end as fact,
        (m).organization_id
        from (select) one
        left join neoapi.whatsapp_identity i on i.id = (m).identity_id) r);

-- Adds a fact about a conversation's contact.
create function neoapi.whatsapp_import_fact(organization text, number text, conversation text, fact json) returns void
    language plpgsql volatile as $$
declare
    i neoapi.whatsapp_identity := json_populate_record(null::neoapi.whatsapp_identity, fact);
    since constant text := split_part(i.source, ' ', 4); -- of a lead: when it got the phone
begin
    i.organization_id := organization;
    i.number_id := number;
    i.conversation_id := conversation;
    if i.kind = 'lead' and i.lead_id is not null and since ~ '^[0-9]+([.][0-9]+)?$' then
        i.source := concat_ws(' ', 'lead', i.lead_id, split_part(i.source, ' ', 3), since); -- the lead's id can be new
        update neoapi.lead l set phone_at = to_timestamp(since::double precision)
        where l.organization_id = organization and l.id = i.lead_id and l.phone = split_part(i.source, ' ', 3)
          and l.phone_at > to_timestamp(since::double precision);
    end if;
    i.phone := neoapi.whatsapp_phone_key(i.wa_id);
    i.boundary := case when i.phone is not null then
        case i.kind when 'left' then i.at + interval '1 second' when 'joined' then i.at end end;
    insert into neoapi.whatsapp_identity (organization_id, number_id, conversation_id, source, kind, at, wa_id, phone, bsuid, link,
        boundary, name, lead_id, preference, preference_at)
    values (i.organization_id, i.number_id, i.conversation_id, i.source, i.kind, i.at, i.wa_id, i.phone, i.bsuid, i.link,
        i.boundary, i.name, i.lead_id, i.preference, i.preference_at)
    on conflict do nothing;
end $$;

-- Imports a conversation (see neo_import_write_sql). Returns created, unchanged, or skipped if the organization does not have the
-- number. If an earlier import has merged it into another one, it is not created again: the contact's other conversation has its last
-- message or, if the provider has none of its messages, one of its facts.
create function neoapi.whatsapp_import_conversation(organization text, body json) returns text
    language plpgsql volatile as $$
declare
    c neoapi.whatsapp_conversation := json_populate_record(null::neoapi.whatsapp_conversation, body);
    number text := (select n.id from neoapi.whatsapp_number n
                    where n.organization_id = organization and n.phone_number_id = body->>'phone_number_id');
    last_message text := body->>'last_provider_message_id';
    facts json := coalesce(body->'facts', '[]');
begin
    if number is null then
        return 'skipped';
    end if;
    perform neoapi.whatsapp_lock_numbers(array[number]);
    if exists (select from neoapi.whatsapp_message m
               where m.organization_id = organization and m.provider_message_id = last_message
                 and m.conversation_id <> c.id)
       or last_message is null and exists (
               select from neoapi.whatsapp_identity i join json_array_elements(facts) f on f.value->>'source' = i.source
               where i.organization_id = organization and i.number_id = number and i.conversation_id <> c.id) then
        return 'unchanged';
    end if;
    c.number_id := number;
    insert into neoapi.whatsapp_conversation select c.* on conflict do nothing;
    if not found then
        return 'unchanged';
    end if;
    perform neoapi.whatsapp_import_fact(organization, number, c.id, f.value)
    from json_array_elements(facts) with ordinality f order by f.ordinality;
    return 'created';
end $$;

-- Deletes the conversation if neither messages nor facts are in it, because the contact's other one has them.
create function neoapi.whatsapp_delete_if_empty(organization text, conversation text) returns void
    language sql volatile
    as $$
        delete from neoapi.whatsapp_conversation c
        where c.organization_id = organization and c.id = conversation
          and not exists (select from neoapi.whatsapp_message m
                          where m.organization_id = organization and m.conversation_id = conversation)
          and not exists (select from neoapi.whatsapp_identity i
                          where i.organization_id = organization and i.conversation_id = conversation)
    $$;

-- Imports a message into its conversation, or into the one that it was merged into, which has the message before it. If the contact
-- has another conversation in the organization, they are merged; only now, because the facts of all conversations say which phone was
-- whose.
create function neoapi.whatsapp_import_message(organization text, body json) returns text
    language plpgsql volatile as $$
declare
    m neoapi.whatsapp_message := json_populate_record(null::neoapi.whatsapp_message, body);
    previous text := body->>'previous_id';
    c neoapi.whatsapp_conversation;
    holder text; -- the conversation that has the fact
    holders text[];
begin
    select x.* into c from neoapi.whatsapp_conversation x
    where x.organization_id = organization and x.id = coalesce(
        (select i.conversation_id from neoapi.whatsapp_identity i
         where i.organization_id = organization and i.source = body->>'fact_source'
           and exists (select from neoapi.whatsapp_number n where n.organization_id = organization and n.id = i.number_id) limit 1),
        (select o.id from neoapi.whatsapp_conversation o where o.organization_id = organization and o.id = m.conversation_id),
        (select p.conversation_id from neoapi.whatsapp_message p where p.organization_id = organization and p.id = previous));
    if not found then
        return 'skipped';
    end if;
    perform neoapi.whatsapp_lock_numbers(array[c.number_id]);
    if exists (select from neoapi.whatsapp_message x where x.organization_id = organization
               and (x.id = m.id or x.provider_message_id = m.provider_message_id)) then
        return 'unchanged';
    end if;
    if body->'fact' is not null then
        perform neoapi.whatsapp_import_fact(organization, c.number_id, c.id, body->'fact');
    end if;
    select i.id, i.conversation_id into m.identity_id, holder from neoapi.whatsapp_identity i
    where i.organization_id = organization and i.number_id = c.number_id
      and (i.source = body->>'fact_source'
           or (i.conversation_id = c.id and i.kind = 'lead' and body->>'fact_source' like 'lead %' -- whose id can be new
               and split_part(i.source, ' ', 3) = split_part(body->>'fact_source', ' ', 3)
               and split_part(i.source, ' ', 4) = split_part(body->>'fact_source', ' ', 4)))
    limit 1;
    m.conversation_id := coalesce(holder, c.id);
    insert into neoapi.whatsapp_message select m.*;
    select array(select distinct o.conversation_id from neoapi.whatsapp_identity o
                 where o.organization_id = organization and o.number_id = i.number_id and o.conversation_id <> m.conversation_id
                   and (o.bsuid = i.bsuid or (o.phone = i.phone and o.at >= t.since and o.at < t.until)))
    into holders from neoapi.whatsapp_identity i
    cross join lateral neoapi.whatsapp_tenure(organization, i.number_id, i.phone, i.at) t where i.id = m.identity_id;
    if cardinality(holders) > 0 then
        perform neoapi.whatsapp_regroup(organization, holders || m.conversation_id, null);
    end if;
    if m.conversation_id <> body->>'conversation_id' then
        perform neoapi.whatsapp_delete_if_empty(organization, body->>'conversation_id');
    end if;
    return 'created';
end $$;
