-- SPDX-License-Identifier: Apache-2.0
-- Creates the functions that write WhatsApp's events into the event log (see 0004_webhooks.sql), in the transaction of the change.

-- Adds the events of messages that are new, and of others that changed. An edit or a revocation is a change of the message that it
-- refers to. Returns the number of deliveries.
create function neoapi.whatsapp_add_message_events(organizations text[], received text[], changed text[]) returns bigint
    language sql volatile
    as $$
        select coalesce(sum(neoapi.add_event(e.organization_id, e.happened, e.id, e.payload)), 0)::bigint
        from (select m.organization_id, k.happened, m.id, neoapi.whatsapp_message_json(m)::text as payload
              from (select r as id, 'whatsapp.message.received' as happened from unnest(received) r
                    union
                    select c, 'whatsapp.message.updated' from unnest(changed) c where c <> all (received)) k
              join neoapi.whatsapp_message m on m.organization_id = any (organizations) and m.id = k.id and m.refers_to is null
              order by k.happened, m.id) e
    $$;

-- Adds an event of a contact that had opted out and has not any more, or the other way round. Returns the number of deliveries.
create function neoapi.whatsapp_add_preference_event(c neoapi.whatsapp_conversation, was_opted_out boolean,
                                                     actor text default 'system', request text default null) returns bigint
    language sql volatile
    return case when was_opted_out = ((c).opted_out_at is not null) then 0 else
        neoapi.add_event((c).organization_id, case when was_opted_out then 'whatsapp.contact.opted_in' else 'whatsapp.contact.opted_out' end,
                         (c).id, neoapi.whatsapp_conversation_json(c)::text, actor, request) end;

-- Adds the events of the contacts whose identities with ids greater than `known` change whether they have opted out. Returns the
-- number of deliveries.
create function neoapi.whatsapp_add_preference_events(numbers text[], known bigint) returns bigint
    language sql volatile
    as $$
        select coalesce(sum(neoapi.whatsapp_add_preference_event(c, before.opted_out_at is not null)), 0)::bigint
        from (select distinct i.organization_id, i.conversation_id from neoapi.whatsapp_identity i
              where i.id > known and i.number_id = any (numbers) and i.preference is not null) n
        join neoapi.whatsapp_conversation c on c.organization_id = n.organization_id and c.id = n.conversation_id
        cross join lateral neoapi.whatsapp_preference(c, known) before
    $$;
