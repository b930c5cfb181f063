-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- whatsapp_message_representation
create or replace function neoapi.whatsapp_message_json(t neoapi.whatsapp_message) returns text language plpgsql stable parallel safe as $$
begin
    return '{' || concat_ws(',',
        '"id":' || to_json(t.id),
        '"conversation_id":' || to_json(t.conversation_id),
        '"direction":' || to_json(t.direction),
        '"source":' || to_json(t.source),
        '"provider_message_id":' || to_json(t.provider_message_id),
        '"reply_to_id":' || to_json((select r.id from neoapi.whatsapp_message r where r.organization_id = t.organization_id and r.provider_message_id = t.reply_to)),
        '"type":' || to_json(t.type),
        '"is_group":' || (nullif(t.is_group, false)),
        '"body":' || to_json(t.body),
        '"edited_at":' || '"' || neoapi.format_timestamp(t.edited_at) || '"',
        '"revoked_at":' || '"' || neoapi.format_timestamp(t.revoked_at) || '"',
        '"template_name":' || to_json(t.template_name),
        '"template_language":' || to_json(t.template_language),
        '"media_mime_type":' || to_json(t.media_mime_type),
        '"media_filename":' || to_json(t.media_filename),
        '"media_url":' || to_json(t.media_url),
        '"has_media":' || t.has_media,
        '"status":' || to_json(t.status),
        '"status_at":' || '"' || neoapi.format_timestamp(t.status_at) || '"',
        '"error_code":' || t.error_code,
        '"error_title":' || to_json(t.error_title),
        '"pricing":' || t.pricing,
        '"actor_id":' || to_json(t.actor_id),
        '"actor_type":' || to_json(t.actor_type),
        '"occurred_at":' || '"' || neoapi.format_timestamp(t.occurred_at) || '"') || '}';
end $$;

prepare whatsapp_message_export as
select '{' || concat_ws(',', '"id":' || to_json(t.id), '"conversation_id":' || to_json(t.conversation_id),
    '"direction":' || to_json(t.direction), '"source":' || to_json(t.source), '"recipient_wa_id":' || to_json(t.recipient_wa_id),
    '"recipient_bsuid":' || to_json(t.recipient_bsuid), '"provider_message_id":' || to_json(t.provider_message_id),
    '"refers_to":' || to_json(t.refers_to), '"reply_to":' || to_json(t.reply_to), '"type":' || to_json(t.type), '"is_group":' || t.is_group,
    '"body":' || to_json(t.body), '"edited_at":' || '"' || neoapi.format_timestamp(t.edited_at) || '"',
    '"revoked_at":' || '"' || neoapi.format_timestamp(t.revoked_at) || '"', '"template_name":' || to_json(t.template_name),
    '"template_language":' || to_json(t.template_language), '"media_mime_type":' || to_json(t.media_mime_type),
    '"media_filename":' || to_json(t.media_filename), '"media_id":' || to_json(t.media_id), '"media_url":' || to_json(t.media_url),
    '"has_media":' || t.has_media, '"status":' || to_json(t.status), '"status_at":' || '"' || neoapi.format_timestamp(t.status_at) || '"',
    '"error_code":' || t.error_code, '"error_title":' || to_json(t.error_title), '"pricing":' || t.pricing,
    '"actor_id":' || to_json(t.actor_id), '"actor_type":' || to_json(t.actor_type),
    '"occurred_at":' || '"' || neoapi.format_timestamp(t.occurred_at) || '"', '"created_conversation":' || t.created_conversation,
    '"identity_source":' || to_json(
    (
        select i.source
        from neoapi.whatsapp_identity i
        where i.organization_id = t.organization_id and i.id = t.identity_id)),
'"identity":' || (
    select '{' || concat_ws(',', '"source":' || to_json(identity.source), '"kind":' || to_json(identity.kind),
        '"at":' || '"' || neoapi.format_timestamp(identity.at) || '"', '"wa_id":' || to_json(identity.wa_id),
        '"bsuid":' || to_json(identity.bsuid), '"link":' || to_json(identity.link), '"name":' || to_json(identity.name),
        '"lead_id":' || to_json(identity.lead_id), '"preference":' || to_json(identity.preference),
        '"preference_at":' || '"' || neoapi.format_timestamp(identity.preference_at) || '"') || '}'
    from neoapi.whatsapp_identity identity
    where identity.organization_id = t.organization_id and identity.id = t.identity_id
        and identity.source = 'message ' || t.provider_message_id),
'"organization_id":' || to_json(t.organization_id)) || '}'
from neoapi.whatsapp_message t
where t.organization_id = $1
order by t.id;

prepare whatsapp_message_list as
select neoapi.whatsapp_message_json(t)
from neoapi.whatsapp_message t
where t.organization_id = $1 and t.conversation_id = $2 and t.refers_to is null and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $3::int;

prepare whatsapp_message_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.whatsapp_message t
        where t.organization_id = $1 and t.conversation_id = $2 and t.refers_to is null and (not $5::boolean or neoapi.force_custom_plan())
            and t.id >= $4
        order by t.id asc
        limit 1) as id) e
left join (
    select neoapi.whatsapp_message_json(t) as answer, t.id, null as position
    from neoapi.whatsapp_message t
    where t.organization_id = $1 and t.conversation_id = $2 and t.refers_to is null and (not $5::boolean or neoapi.force_custom_plan())
        and t.id < $4
    order by t.id desc
    limit $3::int) p on true
order by p.id desc;

prepare whatsapp_message_list_ids as
select neoapi.whatsapp_message_json(t)
from neoapi.whatsapp_message t
where t.organization_id = $1 and t.conversation_id = $2 and t.refers_to is null and t.id in ($4) and (not $5::boolean
    or neoapi.force_custom_plan())
order by t.id desc
limit $3::int;

-- $1 before, $2 organization
prepare whatsapp_message_import as
with batch as materialized (
    select l.number, l.body
    from import_line l
    where l.kind = 'whatsapp_message' and l.number > $1::bigint
    order by l.number
    limit 500),
done as materialized (
    select b.number, neoapi.whatsapp_import_message($2, b.body) as outcome
    from batch b)
select max(number), count(*), count(*) filter (where outcome = 'created'), 0, count(*) filter (where outcome = 'skipped')
from done;
