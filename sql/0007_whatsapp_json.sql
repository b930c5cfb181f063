-- SPDX-License-Identifier: Apache-2.0
-- Creates the functions that return WhatsApp's conversations and messages as JSON.

-- The fields, their order and their meaning are those of src/resources/whatsapp.c.
create function neoapi.whatsapp_message_json(m neoapi.whatsapp_message) returns json
    language sql stable parallel safe
    return (select json_strip_nulls(row_to_json(r)) from (select
        (m).id,
        (m).conversation_id,
        (m).direction,
        (m).source,
        (m).provider_message_id,
        (m).type,
        nullif((m).is_group, false) as is_group,
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
                             and x.refers_to is null
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

-- What lists and reads need; the rows have no secrets.
grant select on neoapi.whatsapp_conversation, neoapi.whatsapp_message to :runtime;
grant select (organization_id, id, party_id) on neoapi.lead to :runtime;
grant select (display_phone_number) on neoapi.whatsapp_number to :runtime;
