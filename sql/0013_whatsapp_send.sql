-- Beginning a conversation: what is committed before the provider is called, and what is recorded after it has answered.
--
-- Locks are taken in one order: contacts (see whatsapp_receive), conversations, what the provider calls messages, messages.

-- Keeps others from the same things until the transaction ends. There are few of these locks, however many things there are, because
-- PostgreSQL has not room for any number.
create function neoapi.whatsapp_lock(kind text, things text[]) returns void
    language sql volatile
    as $$
        select pg_advisory_xact_lock(hashtext(kind), t.slot)
        from (select distinct hashtext(thing) & 127 as slot from unnest(things) thing where thing is not null order by 1) t
    $$;

-- The conversation of a number with a contact, locked; null where there is none. A business-scoped id tells more than a number. Each
-- is looked for by itself, because only then there is one index for it, whatever PostgreSQL knows of the table.
create function neoapi.whatsapp_find(organization text, number text, wa_id text, bsuid text) returns text
    language plpgsql volatile as $$
declare
    known text;
begin
    if bsuid is not null then
        select c.id into known from neoapi.whatsapp_conversation c
        where c.organization_id = organization and c.number_id = number and c.contact_bsuid = bsuid for update;
    end if;
    if known is null and wa_id is not null then
        select c.id into known from neoapi.whatsapp_conversation c
        where c.organization_id = organization and c.number_id = number
          and neoapi.whatsapp_folded(c.contact_wa_id) = neoapi.whatsapp_folded(wa_id) for update;
    end if;
    return known;
end $$;

-- Keeps what the provider calls a contact, unless another conversation of the number has it already.
create function neoapi.whatsapp_identify(organization text, conversation text, wa_id text, bsuid text, name text) returns void
    language sql volatile
    as $$
        update neoapi.whatsapp_conversation c
        set contact_wa_id = case when wa_id is null or exists (
                select from neoapi.whatsapp_conversation o where o.organization_id = organization and o.number_id = c.number_id
                and neoapi.whatsapp_folded(o.contact_wa_id) = neoapi.whatsapp_folded(wa_id) and o.id <> c.id)
                then c.contact_wa_id else wa_id end,
            contact_bsuid = case when bsuid is null or exists (
                select from neoapi.whatsapp_conversation o where o.organization_id = organization and o.number_id = c.number_id
                and o.contact_bsuid = bsuid and o.id <> c.id)
                then c.contact_bsuid else bsuid end,
            contact_name = coalesce(name, c.contact_name),
            updated_at = now()
        where c.organization_id = organization and c.id = conversation
          and (coalesce(wa_id <> c.contact_wa_id, wa_id is not null) or coalesce(bsuid <> c.contact_bsuid, bsuid is not null)
               or coalesce(name <> c.contact_name, name is not null))
    $$;

-- The number that a lead is written to from. `refusal` says why there is none: no_number (no such one, or none at all), or
-- several.
create function neoapi.whatsapp_choose_number(organization text, number text, out id text, out refusal text)
    language plpgsql stable as $$
declare
    known text[] := array(select n.id from neoapi.whatsapp_number n
                          where n.organization_id = organization and (number is null or n.id = number) limit 2);
begin
    id := case when cardinality(known) = 1 then known[1] end;
    refusal := case cardinality(known) when 0 then 'no_number' when 2 then 'several_numbers' end;
end $$;

-- The conversation with a lead, locked, made where there is none. `is_first`: nobody has been told of it before. Found by the
-- lead's number, or where the provider knows the contact by another one, by the lead.
create function neoapi.whatsapp_open(organization text, number text, lead neoapi.lead, conversation text,
                                     out id text, out is_first boolean)
    language plpgsql volatile as $$
begin
    loop
        id := neoapi.whatsapp_find(organization, number, lead.phone, null);
        if id is null then
            select c.id into id from neoapi.whatsapp_conversation c
            where c.organization_id = organization and c.number_id = number and c.lead_id = lead.id
            order by c.id desc limit 1 for update;
        end if;
        exit when id is not null;
        insert into neoapi.whatsapp_conversation
            (organization_id, id, number_id, contact_wa_id, contact_name, triage, lead_id, created_at, updated_at, is_new)
        values (organization, conversation, number, lead.phone, lead.name, 'assigned', lead.id, now(), now(), true)
        on conflict do nothing;
    end loop;
    select c.is_new into is_first from neoapi.whatsapp_conversation c where c.organization_id = organization and c.id = whatsapp_open.id;
    update neoapi.whatsapp_conversation c
    set is_new = false, lead_id = lead.id, contact_name = coalesce(c.contact_name, lead.name), updated_at = now(),
        triage = case c.triage when 'pending' then 'assigned' else c.triage end
    where c.organization_id = organization and c.id = whatsapp_open.id;
end $$;

-- Commits a message to a lead as pending, with its idempotency key (null for none), whose answer is the message's id until there is
-- a better one. One row: `refusal` null and what the provider has to be told, or why there is no message. No row where the key
-- is there already.
create function neoapi.whatsapp_start(
    organization text, credential text, once uuid, hash bytea, actor text, kind_of_actor text, lead text, number text,
    template text, language text, conversation text, message text)
    returns table (refusal text, deliveries int, created boolean, number_id text, phone_number_id text, access_token text,
                   wa_id text, bsuid text)
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    known neoapi.lead;
    open text;
begin
    if once is not null then
        insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, answer, expires_at)
        values (organization, credential, once, hash, 200, message, now() + interval '24 hours') on conflict do nothing;
        if not found then
            return;
        end if;
    end if;
    deliveries := 0;
    select l.* into known from neoapi.lead l where l.organization_id = organization and l.id = lead;
    if not found then
        refusal := 'no_lead';
    else
        select c.id, c.refusal into number_id, refusal from neoapi.whatsapp_choose_number(organization, number) c;
    end if;
    if refusal is null then
        select o.id, o.is_first into open, created from neoapi.whatsapp_open(organization, number_id, known, conversation) o;
        select c.contact_wa_id, c.contact_bsuid, n.phone_number_id, n.access_token,
               case when c.opted_out_at is not null then 'opted_out' end
        into wa_id, bsuid, phone_number_id, access_token, refusal
        from neoapi.whatsapp_conversation c
        join neoapi.whatsapp_number n on n.organization_id = c.organization_id and n.id = c.number_id
        where c.organization_id = organization and c.id = open;
    end if;
    if refusal is not null then
        delete from neoapi.idempotency_key k
        where k.organization_id = organization and k.credential_id = credential and k.key = once;
        update neoapi.whatsapp_conversation c set is_new = true where created and c.organization_id = organization and c.id = open;
        return next;
        return;
    end if;
    insert into neoapi.whatsapp_message (organization_id, id, conversation_id, direction, source, type, template_name,
        template_language, status, status_at, actor_id, actor_type, occurred_at, is_first)
    values (organization, message, open, 'outbound', 'api', 'template', template, language, 'pending', now(), actor,
        kind_of_actor, now(), created);
    update neoapi.idempotency_key k set status = 201
    where created and k.organization_id = organization and k.credential_id = credential and k.key = once;
    return next;
end $$;

-- Records what became of a message that whatsapp_start began. `outcome`: accepted; failed (the provider refused it for good, and that
-- is the answer); unknown; or refused, opted_out and unsent, after which the same request may be made again. Returns the
-- answer, null where there is none.
create function neoapi.whatsapp_finish(
    organization text, credential text, once uuid, message text, outcome text, provider_id text, wa_id text, bsuid text,
    is_held boolean, code int, title text)
    returns text
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    m neoapi.whatsapp_message;
    told neoapi.whatsapp_status;
    made text;
begin
    perform from neoapi.whatsapp_message x
    join neoapi.whatsapp_conversation c on c.organization_id = x.organization_id and c.id = x.conversation_id
    where x.organization_id = organization and x.id = message for update of c;
    if outcome = 'accepted' then
        perform neoapi.whatsapp_lock('neoapi.whatsapp_status', array[provider_id]);
        select s.* into told from neoapi.whatsapp_status s
        where s.organization_id = organization and s.provider_message_id = provider_id
        order by neoapi.whatsapp_rank(s.status) desc limit 1;
    end if;
    select x.* into m from neoapi.whatsapp_message x where x.organization_id = organization and x.id = message for update;
    if outcome = 'accepted' then
        m.provider_message_id := coalesce(m.provider_message_id, (select provider_id where not exists (
            select from neoapi.whatsapp_message o where o.organization_id = organization and o.provider_message_id = provider_id)));
        if m.status = 'pending' then
            m.status := 'accepted';
            m.status_at := now();
        end if;
        if neoapi.whatsapp_rank(told.status) > neoapi.whatsapp_rank(m.status) then
            m.status := told.status;
            m.status_at := told.occurred_at;
            m.error_code := told.error_code;
            m.error_title := told.error_title;
        end if;
        perform neoapi.whatsapp_identify(organization, m.conversation_id, wa_id, bsuid, null);
    elsif outcome <> 'unknown' and m.status = 'pending' then
        m.status := 'failed';
        m.status_at := now();
        m.error_code := code;
        m.error_title := title;
    end if;
    update neoapi.whatsapp_message x
    set provider_message_id = m.provider_message_id, status = m.status, status_at = m.status_at, error_code = m.error_code,
        error_title = m.error_title
    where x.organization_id = organization and x.id = message;
    update neoapi.whatsapp_conversation c
    set held = is_held and m.status in ('pending', 'accepted'),
        opted_out_at = case outcome when 'opted_out' then coalesce(c.opted_out_at, now()) else c.opted_out_at end,
        preference_at = case outcome when 'opted_out' then now() else c.preference_at end,
        is_new = m.is_first and outcome in ('refused', 'opted_out', 'unsent') and not exists (
            select from neoapi.whatsapp_message o where o.organization_id = organization and o.conversation_id = c.id
            and o.status <> 'failed'),
        updated_at = now()
    where c.organization_id = organization and c.id = m.conversation_id;
    if outcome in ('refused', 'opted_out', 'unsent') then
        delete from neoapi.idempotency_key k
        where k.organization_id = organization and k.credential_id = credential and k.key = once and k.answer = message;
        return null;
    end if;
    made := neoapi.whatsapp_answer(organization, message);
    update neoapi.idempotency_key k set answer = made
    where k.organization_id = organization and k.credential_id = credential and k.key = once and k.answer = message;
    return made;
end $$;

revoke execute on function neoapi.whatsapp_start, neoapi.whatsapp_finish from public;
grant execute on function neoapi.whatsapp_start, neoapi.whatsapp_finish to :runtime;
