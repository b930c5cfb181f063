-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- whatsapp_conversation_representation
create or replace function neoapi.whatsapp_conversation_json(t neoapi.whatsapp_conversation) returns text language plpgsql stable parallel safe as $$
begin
    return '{' || concat_ws(',',
        '"id":' || to_json(t.id),
        '"number_id":' || to_json(t.number_id),
        '"number_display_phone_number":' || to_json((select n.display_phone_number from neoapi.whatsapp_number n where n.organization_id = t.organization_id and n.id = t.number_id)),
        '"party_id":' || to_json((select l.party_id from neoapi.lead l where l.organization_id = t.organization_id and l.id = t.lead_id)),
        '"contact_wa_id":' || to_json(t.contact_wa_id),
        '"contact_bsuid":' || to_json(t.contact_bsuid),
        '"contact_name":' || to_json(t.contact_name),
        '"triage":' || to_json(t.triage),
        '"lead_id":' || to_json(t.lead_id),
        '"broker_id":' || to_json(t.broker_id),
        '"last_inbound_at":' || '"' || neoapi.format_timestamp(t.last_inbound_at) || '"',
        '"last_message_at":' || '"' || neoapi.format_timestamp((select m.occurred_at from neoapi.whatsapp_message m where m.organization_id = t.organization_id and m.conversation_id = t.id and m.refers_to is null order by m.occurred_at desc, m.id desc limit 1)) || '"',
        '"last_message":' || (select '{' || concat_ws(',',
        '"id":' || to_json(last_message.id),
        '"direction":' || to_json(last_message.direction),
        '"type":' || to_json(last_message.type),
        '"body":' || to_json(last_message.body),
        '"status":' || to_json(last_message.status),
        '"occurred_at":' || '"' || neoapi.format_timestamp(last_message.occurred_at) || '"') || '}' from neoapi.whatsapp_message last_message where last_message.organization_id = t.organization_id and last_message.conversation_id = t.id and last_message.refers_to is null order by last_message.occurred_at desc, last_message.id desc limit 1),
        '"unread_count":' || t.unread_count,
        '"last_read_at":' || '"' || neoapi.format_timestamp(t.last_read_at) || '"',
        '"opted_out_at":' || '"' || neoapi.format_timestamp(t.opted_out_at) || '"',
        '"window_open":' || (coalesce(now() < t.last_inbound_at + interval '24 hours', false)),
        '"window_expires_at":' || '"' || neoapi.format_timestamp((t.last_inbound_at + interval '24 hours')) || '"',
        '"held":' || t.held,
        '"created_at":' || '"' || neoapi.format_timestamp(t.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(t.updated_at) || '"') || '}';
end $$;

prepare whatsapp_conversation_export as
select '{' || concat_ws(',', '"id":' || to_json(t.id), '"phone_number_id":' || to_json(
    (
        select n.phone_number_id
        from neoapi.whatsapp_number n
        where n.organization_id = t.organization_id and n.id = t.number_id)),
'"contact_wa_id":' || to_json(t.contact_wa_id), '"contact_bsuid":' || to_json(t.contact_bsuid), '"contact_name":' || to_json(t.contact_name),
    '"triage":' || to_json(t.triage), '"triage_at":' || '"' || neoapi.format_timestamp(t.triage_at) || '"',
    '"lead_id":' || to_json(t.lead_id), '"broker_id":' || to_json(t.broker_id),
    '"last_inbound_at":' || '"' || neoapi.format_timestamp(t.last_inbound_at) || '"', '"unread_count":' || t.unread_count,
    '"last_read_at":' || '"' || neoapi.format_timestamp(t.last_read_at) || '"',
    '"opted_out_at":' || '"' || neoapi.format_timestamp(t.opted_out_at) || '"',
    '"preference_at":' || '"' || neoapi.format_timestamp(t.preference_at) || '"',
    '"imported_stop_from":' || '"' || neoapi.format_timestamp(t.imported_stop_from) || '"',
    '"imported_stop_last":' || '"' || neoapi.format_timestamp(t.imported_stop_last) || '"',
    '"recorded_stop_at":' || '"' || neoapi.format_timestamp(t.recorded_stop_at) || '"', '"held":' || t.held,
    '"is_provisional":' || t.is_provisional, '"identities":' || (
    select '[' || string_agg('{' || concat_ws(',', '"source":' || to_json(identities.source), '"kind":' || to_json(identities.kind),
        '"at":' || '"' || neoapi.format_timestamp(identities.at) || '"', '"wa_id":' || to_json(identities.wa_id),
        '"bsuid":' || to_json(identities.bsuid), '"link":' || to_json(identities.link), '"name":' || to_json(identities.name),
        '"lead_id":' || to_json(identities.lead_id), '"preference":' || to_json(identities.preference),
        '"preference_at":' || '"' || neoapi.format_timestamp(identities.preference_at) || '"') || '}', ',' order by identities.id) || ']'
    from neoapi.whatsapp_identity identities
    where identities.organization_id = t.organization_id and identities.conversation_id = t.id and not (identities.source like 'message %'
        and exists (
        select
        from neoapi.whatsapp_message m
        where m.organization_id = t.organization_id and m.provider_message_id = substr(identities.source, 9)
            and m.identity_id = identities.id))),
'"last_provider_message_id":' || to_json(
    (
        select m.provider_message_id
        from neoapi.whatsapp_message m
        where m.organization_id = t.organization_id and m.conversation_id = t.id and m.provider_message_id is not null
        order by m.id desc
        limit 1)),
'"organization_id":' || to_json(t.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(t.created_at) || '"',
    '"updated_at":' || '"' || neoapi.format_timestamp(t.updated_at) || '"') || '}'
from neoapi.whatsapp_conversation t
where t.organization_id = $1
order by t.id;

prepare whatsapp_conversation_list as
select neoapi.whatsapp_conversation_json(t)
from neoapi.whatsapp_conversation t
where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and (not $3::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare whatsapp_conversation_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.whatsapp_conversation t
        where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and (not $4::boolean
            or neoapi.force_custom_plan()) and t.id >= $3
        order by t.id asc
        limit 1) as id) e
left join (
    select neoapi.whatsapp_conversation_json(t) as answer, t.id, null as position
    from neoapi.whatsapp_conversation t
    where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and (not $4::boolean or neoapi.force_custom_plan())
        and t.id < $3
    order by t.id desc
    limit $2::int) p on true
order by p.id desc;

prepare whatsapp_conversation_list_ids as
select neoapi.whatsapp_conversation_json(t)
from neoapi.whatsapp_conversation t
where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and t.id in ($3) and (not $4::boolean
    or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare whatsapp_conversation_list_triage as
select neoapi.whatsapp_conversation_json(t)
from neoapi.whatsapp_conversation t
where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and t.triage in ($3) and (not $4::boolean
    or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare whatsapp_conversation_list_lead_id as
select neoapi.whatsapp_conversation_json(t)
from neoapi.whatsapp_conversation t
where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and t.lead_id in ($3) and (not $4::boolean
    or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare whatsapp_conversation_list_unread as
select neoapi.whatsapp_conversation_json(t)
from neoapi.whatsapp_conversation t
where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and (t.unread_count > 0) in ($3::boolean)
    and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare whatsapp_conversation_list_assigned as
select neoapi.whatsapp_conversation_json(t)
from neoapi.whatsapp_conversation t
where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and (t.broker_id is not null) in ($3::boolean)
    and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare whatsapp_conversation_list_broker_id as
select neoapi.whatsapp_conversation_json(t)
from neoapi.whatsapp_conversation t
where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and t.broker_id in ($3) and (not $4::boolean
    or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare whatsapp_conversation_list_lead_status as
select neoapi.whatsapp_conversation_json(t)
from neoapi.whatsapp_conversation t
where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and t.lead_id in (
    select l.id
    from neoapi.lead l
    where l.organization_id = $1 and l.status in ($3))
    and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare whatsapp_conversation_list_q as
select neoapi.whatsapp_conversation_json(t)
from (
    (
        select t.id as source_id
        from neoapi.whatsapp_conversation t
        where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and (not $4::boolean
            or neoapi.force_custom_plan()) and neoapi.folded(coalesce(t.contact_name, '') || ' ' || coalesce(t.contact_wa_id,
            '')) like ('%' || replace(replace(replace(neoapi.folded($3), E'\\', E'\\\\'), '%', E'\\%'), '_', E'\\_') || '%')
        order by t.id desc
        limit $2::int)
    union (
        select t.id as source_id
        from neoapi.whatsapp_conversation t
        where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and (not $4::boolean
            or neoapi.force_custom_plan()) and t.id in (
            select m.conversation_id
            from neoapi.whatsapp_message m
            where m.organization_id = $1 and m.refers_to is null
                and neoapi.folded(m.body) like ('%' || replace(replace(replace(neoapi.folded($3), E'\\', E'\\\\'), '%', E'\\%'), '_',
                E'\\_') || '%'))
        order by t.id desc
        limit $2::int)) r
cross join lateral (
    select t.*
    from neoapi.whatsapp_conversation t
    where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and t.id = r.source_id and (not $4::boolean
        or neoapi.force_custom_plan())
    offset 0) t
order by r.source_id desc
limit $2::int;

prepare whatsapp_conversation_list_window_open as
select neoapi.whatsapp_conversation_json(t)
from (
    select r.source_id
    from (
        select c.id as source_id
        from neoapi.whatsapp_conversation c
        where c.organization_id = $1 and c.last_inbound_at > now() - interval '24 hours') r
    where true) r
cross join lateral (
    select t.*
    from neoapi.whatsapp_conversation t
    where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and t.id = r.source_id and (not $3::boolean
        or neoapi.force_custom_plan())
    offset 0) t
order by r.source_id desc
limit $2::int;

-- $1 before, $2 organization
prepare whatsapp_conversation_import as
with batch as materialized (
    select l.number, l.body
    from import_line l
    where l.kind = 'whatsapp_conversation' and l.number > $1::bigint
    order by l.number
    limit 500),
done as materialized (
    select b.number, neoapi.whatsapp_import_conversation($2, b.body) as outcome
    from batch b)
select max(number), count(*), count(*) filter (where outcome = 'created'), 0, count(*) filter (where outcome = 'skipped')
from done;

-- $1 organization, $2 before, $3 since
prepare whatsapp_conversation_import_finish as
select neoapi.whatsapp_merge_imported($1, l.body)
from import_line l
where l.kind = 'whatsapp_conversation' and l.number > $2::bigint and l.number <= $3::bigint;
