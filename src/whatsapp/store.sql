-- SPDX-License-Identifier: Apache-2.0
-- Conversations, messages and callbacks of WhatsApp (see store.c).

-- write: begin
select refusal, deliveries, created, number_id, phone_number_id, access_token, wa_id, bsuid, reply_to,
       window_expires_at
from neoapi.whatsapp_start({organization}, {credential}, {key}, decode({hash}, 'hex'), {actor}, {actor_type}, {lead}, {number},
                           {target}, {content}, {conversation}, {message});

-- write: end
select neoapi.whatsapp_finish({organization}, {credential}, {key}, {message}, {outcome}, {provider_id}, {wa_id}, {bsuid}, {is_held},
                              {code}, {title}, {body}, {is_start});

-- read: answer
select neoapi.whatsapp_response({organization}, {message}, {is_start});

-- read: read
select neoapi.whatsapp_conversation_json(t), t.xmin
from neoapi.whatsapp_conversation t
where t.organization_id = {organization} and t.id = {id} and not (t.is_provisional and t.opted_out_at is null);

-- write: change
select body, deliveries, refusal from neoapi.whatsapp_change({organization}, {id}, {version}, {changes}, {actor}, {request});

-- write: merge_leads
select body, deliveries, refusal
from neoapi.lead_merge({organization}, {credential}, {key}, decode({hash}, 'hex'), {id}, {lead}, {actor}, {request})
where body is not null or refusal is not null;

-- read: last_received
select number_id, phone_number_id, access_token, message, provider_message_id, seen, is_known
from neoapi.whatsapp_last_received({organization}, {id}, {message});

-- write: mark_read
select r from neoapi.whatsapp_mark_read({organization}, {id}, {message}, {seen}) r where r is not null;

-- read: media
select number_id, phone_number_id, access_token, media_id, media_mime_type, media_filename, is_kept
from neoapi.whatsapp_media({organization}, {id}, {message});

-- read: find_numbers
select id, phone_number_id, app_secret from neoapi.whatsapp_number
where phone_number_id = any ({ids}) or waba_id = any ({ids}) limit 1000;

-- read: newest_numbers
select id, phone_number_id, app_secret from neoapi.whatsapp_number order by id desc limit 16;

-- read: verify
select true from neoapi.whatsapp_number where verify_token_hash = decode({hash}, 'hex') limit 1;

-- write: receive
select message_count, delivery_count, status_count from neoapi.whatsapp_receive({items}, {numbers}, {conversations}, {messages});
