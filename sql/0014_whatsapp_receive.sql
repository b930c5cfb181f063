-- What the provider's callbacks tell. One call of whatsapp_receive takes all that one callback has; told again, it changes nothing.

-- A fact, as src/model/callback.c reads it out of a callback.
create type neoapi.whatsapp_fact as (
    n               int,    -- its place among the callback's facts
    kind            text,   -- message, status, preference; moved: the contact has another number now
    phone_number_id text,
    id              text,   -- of a message, the provider's; of a move, of the message that tells of it
    message         text,   -- of a status: what was sent along with the message, its id here
    wa_id           text,
    bsuid           text,
    name            text,
    type            text,
    body            text,
    mime_type       text,
    filename        text,
    has_media       boolean,
    status          text,
    error_code      int,
    error_title     text,
    wish            text,   -- stop or resume
    new_wa_id       text,
    new_bsuid       text,
    at              bigint, -- milliseconds since 1970; null: it is not known
    -- what is found here
    organization_id text,
    number_id       text,
    conversation_id text
);

-- The conversation with whoever wrote, locked, made where there is none: then it is its lead's whose number it is.
create function neoapi.whatsapp_conversation_of(fact neoapi.whatsapp_fact, conversation text) returns text
    language plpgsql volatile as $$
declare
    found_id text;
    lead neoapi.lead;
begin
    loop
        found_id := neoapi.whatsapp_find(fact.organization_id, fact.number_id, fact.wa_id, fact.bsuid);
        exit when found_id is not null;
        select l.* into lead from neoapi.lead l
        where l.organization_id = fact.organization_id
          and neoapi.whatsapp_folded(l.phone) = neoapi.whatsapp_folded(fact.wa_id);
        insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_wa_id, contact_bsuid, contact_name,
            triage, lead_id, created_at, updated_at)
        values (fact.organization_id, conversation, fact.number_id, fact.wa_id, fact.bsuid, coalesce(fact.name, lead.name),
            case when lead.id is null then 'pending' else 'assigned' end, lead.id, now(), now())
        on conflict do nothing;
    end loop;
    perform neoapi.whatsapp_identify(fact.organization_id, found_id, fact.wa_id, fact.bsuid, fact.name);
    return found_id;
end $$;

-- The business-scoped id goes with the number: without a new one it is not known any more, unless only the spelling is new.
create function neoapi.whatsapp_move(fact neoapi.whatsapp_fact) returns void
    language plpgsql volatile as $$
declare
    found_id text := neoapi.whatsapp_find(fact.organization_id, fact.number_id, fact.wa_id, fact.bsuid);
begin
    update neoapi.whatsapp_conversation c
    set contact_wa_id = fact.new_wa_id, updated_at = now(),
        contact_bsuid = case when neoapi.whatsapp_folded(fact.new_wa_id) = neoapi.whatsapp_folded(c.contact_wa_id)
                             then coalesce(fact.new_bsuid, c.contact_bsuid) else fact.new_bsuid end
    where c.organization_id = fact.organization_id and c.id = found_id
      and not exists (
          select from neoapi.whatsapp_conversation o
          where o.organization_id = c.organization_id and o.number_id = c.number_id and o.id <> c.id
            and neoapi.whatsapp_folded(o.contact_wa_id) = neoapi.whatsapp_folded(fact.new_wa_id))
      and not exists (
          select from neoapi.whatsapp_conversation o
          where o.organization_id = c.organization_id and o.number_id = c.number_id and o.id <> c.id
            and o.contact_bsuid = fact.new_bsuid);
end $$;

create function neoapi.whatsapp_moment(at bigint) returns timestamptz
    language sql stable parallel safe
    return coalesce(to_timestamp(at / 1000.0), now());

-- Messages, and what becomes of their conversations. `facts` know their conversations. Returns how many messages are new.
create function neoapi.whatsapp_take_messages(facts neoapi.whatsapp_fact[], stem text) returns bigint
    language sql volatile
    as $$
        with taken as (
            insert into neoapi.whatsapp_message (organization_id, id, conversation_id, direction, source, provider_message_id, type,
                body, media_mime_type, media_filename, has_media, status, status_at, occurred_at)
            select f.organization_id, neoapi.block_id(stem, f.n), f.conversation_id, 'inbound', 'webhook', f.id, f.type, f.body,
                   f.mime_type, f.filename, f.has_media, 'received', now(), least(neoapi.whatsapp_moment(f.at), now())
            from unnest(facts) f where f.kind = 'message' order by f.n
            on conflict do nothing
            returning organization_id, conversation_id, occurred_at, type),
        counted as (
            update neoapi.whatsapp_conversation c
            set last_inbound_at = greatest(c.last_inbound_at, t.last), unread_count = c.unread_count + t.count::int,
                updated_at = now(), is_new = false
            from (select organization_id, conversation_id, count(*) filter (where type <> 'system') as count,
                         max(occurred_at) filter (where type <> 'system') as last
                  from taken group by organization_id, conversation_id) t
            where c.organization_id = t.organization_id and c.id = t.conversation_id)
        select count(*) from taken
    $$;

-- What contacts want: the latest word counts, whatever order they are told in; of two at the same time, stop.
create function neoapi.whatsapp_take_wishes(facts neoapi.whatsapp_fact[]) returns void
    language sql volatile
    as $$
        update neoapi.whatsapp_conversation c
        set preference_at = w.at, updated_at = now(),
            opted_out_at = case w.wish when 'stop' then coalesce(c.opted_out_at, w.at) end
        from (select distinct on (f.organization_id, f.conversation_id) f.organization_id, f.conversation_id, f.wish,
                     least(neoapi.whatsapp_moment(f.at), now()) as at
              from unnest(facts) f where f.wish is not null and f.conversation_id is not null
              order by f.organization_id, f.conversation_id, neoapi.whatsapp_moment(f.at) desc, f.wish = 'stop' desc) w
        where c.organization_id = w.organization_id and c.id = w.conversation_id
          and (c.preference_at is null or w.at > c.preference_at or (w.at = c.preference_at and w.wish = 'stop'))
    $$;

-- The latest message of ours in a conversation.
create function neoapi.whatsapp_newest(organization text, conversation text) returns text
    language sql stable
    as $$
        select m.id from neoapi.whatsapp_message m
        where m.organization_id = organization and m.conversation_id = conversation and m.direction = 'outbound'
        order by m.occurred_at desc, m.id desc limit 1
    $$;

-- Whether a stop of that moment changes what the contact wants; of stop and resume at the same time, stop counts.
create function neoapi.whatsapp_is_later(stop timestamptz, c neoapi.whatsapp_conversation) returns boolean
    language sql immutable parallel safe
    return coalesce(stop > (c).preference_at or (stop = (c).preference_at and (c).opted_out_at is null),
                    stop is not null and (c).preference_at is null);

-- Statuses: they are kept, and what they are about rises to them. Returns how many are new.
create function neoapi.whatsapp_take_statuses(facts neoapi.whatsapp_fact[]) returns bigint
    language plpgsql volatile as $$
declare
    count bigint;
begin
    perform from neoapi.whatsapp_conversation c
    where (c.organization_id, c.id) in (
        select m.organization_id, m.conversation_id from unnest(facts) f
        join neoapi.whatsapp_message m on m.organization_id = f.organization_id and m.provider_message_id = f.id
        where f.kind = 'status'
        union
        select m.organization_id, m.conversation_id from unnest(facts) f
        join neoapi.whatsapp_message m on m.organization_id = f.organization_id and m.id = f.message
        where f.kind = 'status')
    order by c.organization_id, c.id for update;
    insert into neoapi.whatsapp_status (organization_id, provider_message_id, status, occurred_at, error_code, error_title)
    select f.organization_id, f.id, f.status, least(neoapi.whatsapp_moment(f.at), now()), f.error_code, f.error_title
    from unnest(facts) f where f.kind = 'status' order by f.organization_id, f.id, f.status, f.n
    on conflict do nothing;
    get diagnostics count = row_count;
    -- Of what is not known by the provider's id: either it becomes known now, or whoever records that id sees what is here.
    perform neoapi.whatsapp_lock('neoapi.whatsapp_status', array(
        select f.id from unnest(facts) f
        where f.kind = 'status' and not exists (select from neoapi.whatsapp_message m
            where m.organization_id = f.organization_id and m.provider_message_id = f.id)));
    with target as (
        select distinct on (m.organization_id, m.id) m.organization_id, m.id, m.conversation_id, f.id as provider_id, f.status,
               least(neoapi.whatsapp_moment(f.at), now()) as at, f.error_code, f.error_title, f.wa_id, f.bsuid
        from unnest(facts) f cross join lateral (
            select x.* from neoapi.whatsapp_message x
            where x.organization_id = f.organization_id and x.provider_message_id = f.id and x.direction = 'outbound'
            union
            select x.* from neoapi.whatsapp_message x
            where x.organization_id = f.organization_id and x.id = f.message and x.direction = 'outbound'
              and x.provider_message_id is null) m
        where f.kind = 'status'
        order by m.organization_id, m.id, neoapi.whatsapp_rank(f.status) desc, f.n),
    risen as (
        update neoapi.whatsapp_message m
        set provider_message_id = coalesce(m.provider_message_id, (select t.provider_id where not exists (
                select from neoapi.whatsapp_message o
                where o.organization_id = t.organization_id and o.provider_message_id = t.provider_id))),
            status = t.status, status_at = t.at, error_code = t.error_code, error_title = t.error_title
        from target t
        where m.organization_id = t.organization_id and m.id = t.id
          and neoapi.whatsapp_rank(t.status) > neoapi.whatsapp_rank(m.status))
    -- A refusal counts as a wish of that moment, however late and however often it is told.
    update neoapi.whatsapp_conversation c
    set held = c.held and not neoapi.whatsapp_newest(c.organization_id, c.id) = any (t.messages), updated_at = now(),
        opted_out_at = case when neoapi.whatsapp_is_later(t.refused_at, c) then coalesce(c.opted_out_at, t.refused_at)
                            else c.opted_out_at end,
        preference_at = case when neoapi.whatsapp_is_later(t.refused_at, c) then t.refused_at else c.preference_at end
    from (select organization_id, conversation_id, array_agg(id) as messages,
                 max(at) filter (where status = 'failed' and error_code = 131050) as refused_at
          from target group by organization_id, conversation_id) t
    where c.organization_id = t.organization_id and c.id = t.conversation_id
      and ((c.held and neoapi.whatsapp_newest(c.organization_id, c.id) = any (t.messages))
           or neoapi.whatsapp_is_later(t.refused_at, c));
    return count;
end $$;

-- What statuses tell of the ids of contacts that were known by their numbers alone. Where another conversation has such an id already,
-- what the contact wants is known to both.
create function neoapi.whatsapp_take_ids(facts neoapi.whatsapp_fact[]) returns void
    language plpgsql volatile as $$
declare
    known record;
begin
    for known in
        select distinct c.organization_id, c.id, c.number_id, f.bsuid
        from unnest(facts) f
        join neoapi.whatsapp_message m on m.organization_id = f.organization_id and m.provider_message_id = f.id
        join neoapi.whatsapp_conversation c on c.organization_id = m.organization_id and c.id = m.conversation_id
        where f.kind = 'status' and f.bsuid is not null and m.direction = 'outbound' and c.contact_bsuid is null
          and (f.wa_id is null or neoapi.whatsapp_folded(f.wa_id) = neoapi.whatsapp_folded(c.contact_wa_id))
        order by c.organization_id, c.id
    loop
        perform neoapi.whatsapp_identify(known.organization_id, known.id, null, known.bsuid, null);
        update neoapi.whatsapp_conversation c
        set opted_out_at = o.opted_out_at, preference_at = o.preference_at, updated_at = now()
        from neoapi.whatsapp_conversation o
        where c.organization_id = known.organization_id and c.id = known.id
          and o.organization_id = c.organization_id and o.number_id = c.number_id and o.contact_bsuid = known.bsuid
          and o.id <> c.id and (c.preference_at is null or o.preference_at > c.preference_at) and o.preference_at is not null;
    end loop;
end $$;

-- Who a fact is about, among those of one callback.
create function neoapi.whatsapp_contact(fact neoapi.whatsapp_fact) returns text
    language sql immutable parallel safe
    return concat_ws(' ', fact.number_id, coalesce(fact.wa_id, '-'), fact.bsuid);

-- What a fact's contact is known by, and will be.
create function neoapi.whatsapp_names(fact neoapi.whatsapp_fact) returns text[]
    language sql immutable parallel safe
    return array[fact.number_id || neoapi.whatsapp_folded(fact.wa_id), fact.number_id || fact.bsuid,
                 fact.number_id || neoapi.whatsapp_folded(fact.new_wa_id), fact.number_id || fact.new_bsuid];

-- Takes the facts (a JSON array) that are about one of these numbers. `conversations` and `messages` are the stems of blocks of ids.
create function neoapi.whatsapp_receive(told json, numbers text[], conversations text, messages text,
                                        out message_count bigint, out status_count bigint)
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    facts neoapi.whatsapp_fact[];
    fact neoapi.whatsapp_fact;
    contacts text[] := '{}';
    known text[] := '{}'; -- their conversations
begin
    facts := array(
        select json_populate_record(f, json_build_object('organization_id', w.organization_id, 'number_id', w.id))
        from json_populate_recordset(null::neoapi.whatsapp_fact, told) f
        join neoapi.whatsapp_number w on w.phone_number_id = f.phone_number_id and w.id = any (numbers)
        order by f.n);
    perform neoapi.whatsapp_lock('neoapi.whatsapp_contact', array(
        select c.known_as from unnest(facts) f, unnest(neoapi.whatsapp_names(f)) c (known_as)));
    -- What was told before is left out, since whoever has moved meanwhile is not known by the old number any more.
    facts := array(
        select f from unnest(facts) f
        where f.kind not in ('message', 'moved') or not exists (
            select from neoapi.whatsapp_message m where m.organization_id = f.organization_id and m.provider_message_id = f.id)
        order by f.n);
    -- One after the other, because who has moved is not known by the old number any more.
    for fact in
        select (one.f).* from (
            select f, row_number() over (partition by neoapi.whatsapp_contact(f), f.kind = 'moved' order by f.n) as nth
            from unnest(facts) f where f.kind <> 'status') one
        where one.nth = 1 or (one.f).kind = 'moved' order by (one.f).n
    loop
        if fact.kind = 'moved' then
            perform neoapi.whatsapp_move(fact);
        else
            contacts := contacts || neoapi.whatsapp_contact(fact);
            known := known || neoapi.whatsapp_conversation_of(fact, neoapi.block_id(conversations, fact.n));
        end if;
    end loop;
    facts := array(
        select json_populate_record(f, json_build_object('conversation_id', k.conversation_id))
        from unnest(facts) f left join unnest(contacts, known) k (contact, conversation_id)
            on k.contact = neoapi.whatsapp_contact(f) and f.kind <> 'status'
        order by f.n);
    message_count := neoapi.whatsapp_take_messages(facts, messages);
    perform neoapi.whatsapp_take_wishes(facts);
    status_count := neoapi.whatsapp_take_statuses(facts);
    perform neoapi.whatsapp_take_ids(facts);
end $$;

revoke execute on function neoapi.whatsapp_receive from public;
grant execute on function neoapi.whatsapp_receive to :runtime;
