-- SPDX-License-Identifier: Apache-2.0
-- Creates the functions that record a WhatsApp message before the provider is called, and the outcome after.
--
-- All functions lock in this order: the number (whatsapp_lock_numbers), conversations, messages.

-- Inserts a pending message to a lead, and the idempotency key unless it is null. Until whatsapp_finish the key's response_body
-- is the message's id. Returns one row: what the provider's API needs, or a refusal, after which nothing is inserted. Returns
-- no row if the key exists.
create function neoapi.whatsapp_start(
    organization text, credential text, idempotency_key uuid, request_hash bytea, actor text, actor_type text, lead text,
    number text, template text, language text, conversation text, message text)
    returns table (refusal text, deliveries int, created boolean, number_id text, phone_number_id text, access_token text,
                   wa_id text, bsuid text, account text, has_template boolean, template_text text)
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    recipient neoapi.lead;
    contact neoapi.whatsapp_identity; -- the one that had the lead's phone when the lead got it
    opened text; -- the conversation
begin
    if idempotency_key is not null then
        insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, expires_at)
        values (organization, credential, idempotency_key, request_hash, 200, message, now() + interval '24 hours')
        on conflict do nothing;
        if not found then
            return;
        end if;
    end if;
    deliveries := 0;
    select l.* into recipient from neoapi.lead l where l.organization_id = organization and l.id = lead;
    if not found then
        refusal := 'no_lead';
    else
        select min(n.id), case count(*) when 0 then 'no_number' when 1 then null else 'several_numbers' end into number_id, refusal
        from neoapi.whatsapp_number n where n.organization_id = organization and (number is null or n.id = number);
    end if;
    if refusal is null then
        perform neoapi.whatsapp_lock_numbers(array[number_id]);
        contact := neoapi.whatsapp_add_identity(neoapi.whatsapp_lead_identity(recipient, number_id), conversation, null);
        opened := contact.conversation_id;
        perform neoapi.whatsapp_refresh(organization, opened); -- also applies an opt-out that was imported since
        select c.contact_wa_id, c.contact_bsuid, n.phone_number_id, n.access_token, n.waba_id, c.is_provisional or c.id = conversation,
               case when c.opted_out_at is not null then 'opted_out'
                    when c.contact_wa_id is null and c.contact_bsuid is null then 'no_phone' end
        into wa_id, bsuid, phone_number_id, access_token, account, created, refusal
        from neoapi.whatsapp_conversation c
        join neoapi.whatsapp_number n on n.organization_id = c.organization_id and n.id = c.number_id
        where c.organization_id = organization and c.id = opened;
    end if;
    if refusal is not null then
        delete from neoapi.idempotency_key k
        where k.organization_id = organization and k.credential_id = credential and k.key = idempotency_key;
        update neoapi.whatsapp_conversation c set is_provisional = true
        where created and not c.is_provisional and c.organization_id = organization and c.id = opened;
        return next;
        return;
    end if;
    update neoapi.whatsapp_conversation c
    set is_provisional = false, updated_at = now(), lead_id = lead,
        triage = case when c.triage = 'pending' and c.triage_at is null then 'assigned' else c.triage end
    where c.organization_id = organization and c.id = opened;
    insert into neoapi.whatsapp_message (organization_id, id, conversation_id, identity_id, recipient_wa_id, recipient_bsuid,
        direction, source, type, template_name, template_language, status, status_at, actor_id, actor_type, occurred_at,
        created_conversation)
    values (organization, message, opened, contact.id, wa_id, case when wa_id is null then bsuid end, 'outbound', 'api', 'template',
        template, language, 'pending', now(), actor, actor_type, now(), created);
    update neoapi.idempotency_key k set status = 201
    where created and k.organization_id = organization and k.credential_id = credential and k.key = idempotency_key;
    select t.text into template_text from neoapi.whatsapp_template t
    where t.organization_id = organization and t.waba_id = account and t.name = template
      and t.language = whatsapp_start.language and t.read_at > now() - interval '1 hour';
    has_template := found;
    return next;
end $$;

-- Stores a template's text, as the provider has returned it.
create function neoapi.whatsapp_store_template(organization text, account text, template text, language text, body text)
    returns void
    language sql volatile security definer set search_path = pg_catalog, pg_temp
    as $$
        insert into neoapi.whatsapp_template as t (organization_id, waba_id, name, language, text, read_at)
        values (organization, account, template, language, body, now())
        on conflict (organization_id, waba_id, name, language) do update set text = excluded.text, read_at = excluded.read_at
    $$;

-- Records the outcome of a message of whatsapp_start: accepted; failed (rejected for good, which is the response); unknown; or
-- refused, opted_out, unsent, busy, which delete the idempotency key, so that the request can be retried. `rendered` is the template's
-- text with the parameters, or null. Returns the response, or null.
create function neoapi.whatsapp_finish(
    organization text, credential text, idempotency_key uuid, message text, outcome text, provider_id text, wa_id text, bsuid text,
    is_held boolean, code int, title text, rendered text)
    returns text
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    m neoapi.whatsapp_message;
    number text;
    reported neoapi.whatsapp_status; -- by a callback that was faster than the provider's response
    known bigint; -- identities with greater ids are new
    is_retryable constant boolean := outcome in ('refused', 'opted_out', 'unsent', 'busy');
    response text;
begin
    select c.number_id into number from neoapi.whatsapp_message x
    join neoapi.whatsapp_conversation c on c.organization_id = x.organization_id and c.id = x.conversation_id
    where x.organization_id = organization and x.id = message;
    perform neoapi.whatsapp_lock_numbers(array[number]);
    known := nextval('neoapi.whatsapp_identity_id_seq');
    select x.* into m from neoapi.whatsapp_message x where x.organization_id = organization and x.id = message;
    if outcome = 'accepted' or outcome = 'opted_out' then
        perform neoapi.whatsapp_add_recipient(m, number, coalesce(wa_id, m.recipient_wa_id), bsuid,
                                                  case outcome when 'opted_out' then now() end);
    end if;
    if outcome = 'accepted' then
        select s.* into reported from neoapi.whatsapp_status s
        where s.organization_id = organization and s.provider_message_id = provider_id
        order by neoapi.whatsapp_status_rank(s.status) desc limit 1;
        perform neoapi.whatsapp_add_recipient(m, number, coalesce(reported.contact_wa_id, m.recipient_wa_id),
            reported.contact_bsuid, case reported.error_code when 131050 then reported.occurred_at end);
    end if;
    perform from neoapi.whatsapp_message x
    join neoapi.whatsapp_conversation c on c.organization_id = x.organization_id and c.id = x.conversation_id
    where x.organization_id = organization and x.id = message for update of c;
    select x.* into m from neoapi.whatsapp_message x where x.organization_id = organization and x.id = message for update;
    if outcome = 'accepted' then
        m.provider_message_id := coalesce(m.provider_message_id, (select provider_id where not exists (
            select from neoapi.whatsapp_message o where o.organization_id = organization and o.provider_message_id = provider_id)));
        if m.status = 'pending' then
            m.status := 'accepted';
            m.status_at := now();
        end if;
        if neoapi.whatsapp_status_rank(reported.status) > neoapi.whatsapp_status_rank(m.status) then
            m.status := reported.status;
            m.status_at := reported.occurred_at;
            m.error_code := reported.error_code;
            m.error_title := reported.error_title;
        end if;
    elsif outcome <> 'unknown' and m.status = 'pending' then
        m.status := 'failed';
        m.status_at := now();
        m.error_code := code;
        m.error_title := title;
    end if;
    update neoapi.whatsapp_message x
    set provider_message_id = m.provider_message_id, status = m.status, status_at = m.status_at, error_code = m.error_code,
        error_title = m.error_title, body = rendered
    where x.organization_id = organization and x.id = message;
    update neoapi.whatsapp_conversation c
    set held = is_held and m.status in ('pending', 'accepted'),
        is_provisional = m.created_conversation and is_retryable and not exists (
            select from neoapi.whatsapp_message o where o.organization_id = organization and o.conversation_id = c.id
            and o.status <> 'failed'),
        updated_at = now()
    where c.organization_id = organization and c.id = m.conversation_id;
    update neoapi.whatsapp_number n
    set refused_at = case when outcome <> 'accepted' then now() end,
        refusal = case when outcome <> 'accepted' then concat_ws(': ', code, title) end,
        is_busy = outcome = 'busy'
    where n.organization_id = organization and n.id = number
      and (outcome in ('unsent', 'busy') or (outcome = 'accepted' and n.refused_at is not null));
    if outcome = 'opted_out' or reported.error_code = 131050 then
        perform neoapi.whatsapp_add_preference_events(array[number], known);
    end if;
    if is_retryable then
        delete from neoapi.idempotency_key k
        where k.organization_id = organization and k.credential_id = credential and k.key = idempotency_key
          and k.response_body = message;
        return null;
    end if;
    response := neoapi.whatsapp_response(organization, message);
    update neoapi.idempotency_key k set response_body = response
    where k.organization_id = organization and k.credential_id = credential and k.key = idempotency_key
      and k.response_body = message;
    return response;
end $$;

-- Sets what a client decides about a conversation; `opted_out_at` records or withdraws an opt-out that the contact made elsewhere.
-- Returns the conversation as it is then, or null if it has another version or the change is refused: opted_out if the opt-out is the
-- contact's own, which only the contact can end; opted_in if the contact has opted in since.
create function neoapi.whatsapp_change(
    organization text, conversation text, version xid, triage text, last_read_at timestamptz, opted_out_at timestamptz,
    actor text, request text, out body text, out deliveries bigint, out refusal text)
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    before neoapi.whatsapp_conversation;
    c neoapi.whatsapp_conversation;
    contact record;
begin
    deliveries := 0;
    perform neoapi.whatsapp_lock_numbers(array[x.number_id]) from neoapi.whatsapp_conversation x
    where x.organization_id = organization and x.id = conversation
      and date_trunc('milliseconds', x.opted_out_at) is distinct from whatsapp_change.opted_out_at;
    select x.* into before from neoapi.whatsapp_conversation x
    where x.organization_id = organization and x.id = conversation and x.xmin = version for update;
    if not found then
        return;
    end if;
    c := before;
    if date_trunc('milliseconds', c.opted_out_at) is distinct from whatsapp_change.opted_out_at then
        perform neoapi.whatsapp_refresh(organization, conversation); -- an imported opt-out is the contact's own
        select x.* into c from neoapi.whatsapp_conversation x where x.organization_id = organization and x.id = conversation;
        c.recorded_stop_at := whatsapp_change.opted_out_at;
        contact := neoapi.whatsapp_contact_state(c);
        c.opted_out_at := contact.opted_out_at;
        c.preference_at := contact.preference_at;
        if (c.opted_out_at is null) <> (whatsapp_change.opted_out_at is null) then
            refusal := case when c.opted_out_at is null then 'opted_in' else 'opted_out' end;
            return;
        end if;
    end if;
    if c.triage <> whatsapp_change.triage then
        c.triage := whatsapp_change.triage;
        c.triage_at := now();
    end if;
    if c.last_read_at is distinct from whatsapp_change.last_read_at then
        c.last_read_at := whatsapp_change.last_read_at;
        c.unread_count := neoapi.whatsapp_unread_count(organization, conversation, c.last_read_at);
    end if;
    if c is distinct from before then
        c.updated_at := greatest(now(), before.updated_at + interval '1 millisecond');
        update neoapi.whatsapp_conversation x
        set triage = c.triage, triage_at = c.triage_at, last_read_at = c.last_read_at, unread_count = c.unread_count,
            recorded_stop_at = c.recorded_stop_at, opted_out_at = c.opted_out_at, preference_at = c.preference_at,
            updated_at = c.updated_at
        where x.organization_id = organization and x.id = conversation;
    end if;
    body := neoapi.whatsapp_conversation_json(c);
    deliveries := neoapi.whatsapp_add_preference_event(c, before.opted_out_at is not null, actor, request);
end $$;

-- What an administrator should know: how many messages have been pending for more than ten minutes, the oldest one and for how many
-- seconds, the numbers whose messages the provider has refused within a day and not accepted since, and how many of them need a
-- change by an administrator.
create function neoapi.whatsapp_health(out stalled bigint, out oldest bigint, out oldest_id text, out refused bigint,
                                       out refusals text)
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select p.stalled, coalesce(p.oldest, 0), p.oldest_id, r.refused, r.refusals
        from (select count(*) as stalled, extract(epoch from now() - min(m.occurred_at))::bigint as oldest,
                     (array_agg(m.id order by m.occurred_at, m.id))[1] as oldest_id
              from neoapi.whatsapp_message m
              where m.status = 'pending' and m.occurred_at < now() - interval '10 minutes') p,
             (select count(*) filter (where not n.is_busy) as refused, string_agg(
                 format('%s (%s%s)', n.id, case when n.is_busy then 'temporarily; ' end, n.refusal), ', ' order by n.id) as refusals
              from neoapi.whatsapp_number n where n.refused_at > now() - interval '1 day') r
    $$;

revoke execute on function
    neoapi.whatsapp_start, neoapi.whatsapp_store_template, neoapi.whatsapp_finish, neoapi.whatsapp_change,
    neoapi.whatsapp_health from public;
grant execute on function
    neoapi.whatsapp_start, neoapi.whatsapp_store_template, neoapi.whatsapp_finish, neoapi.whatsapp_change,
    neoapi.whatsapp_health to :runtime;
