-- SPDX-License-Identifier: Apache-2.0
-- Creates the tables and functions that find, erase and keep apart the data of a person (see doc/privacy.md).
--
-- `person` is what a request gives, normalized by the module: {"document_number": CPF or CNPJ, "email": …, "phone": digits}.
-- `personal` has the fields that erasure removes, by the prefix of ids: {"pty_": ["name", …], …}. The module makes it from the marks in
-- the tables of fields (src/sql/subject.c).
--
-- The runtime role calls the functions and has no privileges on the tables.

-- ---------------------------------------------------------------- tables

-- Erased records that the law obliges to keep, until a day; null: as long as the contract runs. They are removed from the record's own
-- row, so that no list, filter, event or export shows them.
create table neoapi.restricted_record (
    organization_id text collate "C" not null,
    id              text collate "C" not null, -- of the party or document
    record          text not null,             -- its representation
    party_id        text collate "C" not null,
    document_number text collate "C",
    email           text,
    phone_key       text collate "C",
    because         text[] not null, -- ids of contracts and proposals
    restricted_at   timestamptz not null default now(),
    kept_until      date,
    primary key (organization_id, id)
);
create index restricted_record_document on neoapi.restricted_record (organization_id, document_number) where document_number is not null;
create index restricted_record_email on neoapi.restricted_record (organization_id, lower(email)) where email is not null;
create index restricted_record_phone on neoapi.restricted_record (organization_id, phone_key) where phone_key is not null;
create index restricted_record_due on neoapi.restricted_record (kept_until) where kept_until is not null;

-- The keys of hashes of erased contacts. They are in the database, so that the hashes are still valid after a restore.
create table neoapi.privacy_key (
    organization_id text collate "C" primary key,
    key             bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);

-- Contacts whose opt-out was erased. None gets a message from any number of the organization until it opts in again.
create table neoapi.whatsapp_erased_opt_out (
    organization_id text collate "C" not null,
    contact         bytea not null, -- see erased_contact
    opted_out_at    timestamptz not null,
    primary key (organization_id, contact)
);

-- An erasure in progress or done. It continues in steps (erasure_step), in the request and in the job "erase".
create table neoapi.erasure (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id like 'ers\_%' and octet_length(id) = 30),
    tenant_id       text collate "C" not null,
    person          json,           -- null once it is complete, and of a retention rule
    rule            text,           -- the kind of the retention rule that began it; null: a request did
    given           text[],         -- the records that the rule erases
    fingerprint     bytea not null, -- a keyed hash of the person, who has at most one erasure in progress
    actor           text collate "C" not null,
    request_id      text,
    requested_at    timestamptz not null default now(),
    completed_at    timestamptz,
    targets         text[] not null default '{}', -- the records whose traces are erased
    phase           text not null default 'search' check (phase in ('search', 'records', 'events', 'responses', 'done')),
    target          int not null default 1, -- the index in `targets` of the next one, in the phases records and events
    position        text not null default '',
    counts          jsonb not null default '{}',
    primary key (organization_id, id)
);
create unique index erasure_pending on neoapi.erasure (organization_id, fingerprint) where completed_at is null;
create index erasure_next on neoapi.erasure (requested_at) where completed_at is null;
create index erasure_fingerprint on neoapi.erasure (organization_id, fingerprint, id);
create index erasure_completed on neoapi.erasure (organization_id, coalesce(completed_at, 'infinity')); -- for attempts that end

-- The rules of an organization: what is erased after a number of months (see retention_due).
create table neoapi.retention_rule (
    organization_id text collate "C" not null references neoapi.organization (id),
    kind            text not null check (kind in ('leads', 'candidates', 'messages')),
    months          int not null check (months between 1 and 600),
    created_at      timestamptz not null default now(),
    checked_at      timestamptz, -- when nothing was due; null: there may be more
    erased          bigint not null default 0, -- records, in total
    last_erased_at  timestamptz,
    primary key (organization_id, kind)
);

-- ---------------------------------------------------------------- hashes

-- A keyed hash (an HMAC without padding), or null if the organization has no key yet.
create function neoapi.erased_contact(organization text, contact text) returns bytea
    language sql stable strict security definer set search_path = pg_catalog, pg_temp
    as $$ select sha256(k.key || sha256(k.key || convert_to(contact, 'UTF8')))
          from neoapi.privacy_key k where k.organization_id = organization $$;
revoke execute on function neoapi.erased_contact from public;

-- Replaces the function of 0004_whatsapp.sql: also finds the opt-outs of erased contacts.
create or replace function neoapi.whatsapp_latest_opt_out(c neoapi.whatsapp_conversation) returns neoapi.whatsapp_opt_out
    language sql stable
    as $$
        select l.o from (
            select o from neoapi.whatsapp_opt_out o
            where o.organization_id = c.organization_id and neoapi.whatsapp_opt_out_matches(o, c)
              and o.id <> 'wao_' || right(c.id, 26)
              and not exists (
                  select from neoapi.whatsapp_number n
                  where n.organization_id = c.organization_id and n.phone_number_id = o.phone_number_id and n.id <> c.number_id)
            union all
            select json_populate_record(null::neoapi.whatsapp_opt_out, json_build_object('opted_out_at', e.opted_out_at))
            from neoapi.whatsapp_erased_opt_out e
            where e.organization_id = c.organization_id
              and e.contact in (neoapi.erased_contact(c.organization_id, neoapi.whatsapp_phone_key(c.contact_wa_id)),
                                neoapi.erased_contact(c.organization_id, c.contact_bsuid))) l
        order by greatest((l.o).preference_at, (l.o).opted_out_at) desc limit 1
    $$;

-- ---------------------------------------------------------------- finding

-- All forms of a contact's number: as it is, and with and without the digit that whatsapp_phone_key removes.
create function neoapi.phone_forms(digits text) returns text[]
    language sql immutable strict parallel safe
    return array(select distinct f from unnest(array[digits, neoapi.whatsapp_phone_key(digits),
        case when digits ~ '^55[0-9]{10}$' then left(digits, 4) || '9' || right(digits, 8) end]) f where f is not null);

-- Whether a text, such as a body that a portal sent, has one of the person's values.
create function neoapi.mentions_person(content text, person json) returns boolean
    language sql stable parallel safe
    return (select coalesce(position(lower(person->>'email') in lower(t.plain)) > 0, false)
                or coalesce(t.digits ~ any (array(select case when f like '55%' then substr(f, 3) else f end from unnest(neoapi.phone_forms(person->>'phone')) f)), false)
                or coalesce(position(person->>'document_number' in upper(translate(t.plain, './- ', ''))) > 0, false)
            from (select case when content like 'base64:%' then encode(decode(substr(content, 8), 'base64'), 'escape') else content end as plain) p,
                 lateral (select p.plain, regexp_replace(p.plain, '[^0-9]', '', 'g') as digits) t);

-- The records with a value of the person: in which field, and how it matches. is_deleted: only the event log still has the record.
create function neoapi.subject_matches(organization text, person json)
    returns table (id text, field text, match text, is_deleted boolean)
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select p.id, 'document_number', 'exact', false from neoapi.party p
        where p.organization_id = organization and p.document_number = person->>'document_number'
        union all
        select p.id, 'email', case when p.email = person->>'email' then 'exact' else 'normalized' end, false from neoapi.party p
        where p.organization_id = organization and p.email is not null and lower(p.email) = lower(person->>'email')
        union all
        select p.id, 'phone', case when p.phone = '+' || (person->>'phone') then 'exact' else 'normalized' end, false from neoapi.party p
        where p.organization_id = organization and p.phone = any (array(select '+' || f from unnest(neoapi.phone_forms(person->>'phone')) f))
        union all
        select l.id, 'email', case when l.email = person->>'email' then 'exact' else 'normalized' end, false from neoapi.lead l
        where l.organization_id = organization and l.email is not null and lower(l.email) = lower(person->>'email')
        union all
        select l.id, 'phone', case when l.phone = person->>'phone' then 'exact' else 'normalized' end, false from neoapi.lead l
        where l.organization_id = organization and neoapi.whatsapp_phone_key(l.phone) = neoapi.whatsapp_phone_key(person->>'phone')
        union all
        select c.id, 'contact_wa_id', case when c.contact_wa_id = person->>'phone' then 'exact' else 'normalized' end, false
        from neoapi.whatsapp_number n
        join neoapi.whatsapp_conversation c
        on c.organization_id = n.organization_id and c.number_id = n.id and c.contact_wa_id is not null
           and neoapi.whatsapp_phone_key(c.contact_wa_id) = neoapi.whatsapp_phone_key(person->>'phone')
        where n.organization_id = organization
        union all
        select e.resource_id, m.field, m.match, true
        from neoapi.event e
        cross join lateral (select e.payload::json as p, e.previous as q) j
        cross join lateral (
            select 'document_number', 'exact' where j.p->>'document_number' = person->>'document_number'
            union all
            select 'email', case when j.p->>'email' = person->>'email' then 'exact' else 'normalized' end
            where lower(j.p->>'email') = lower(person->>'email')
            union all
            select 'phone', case when ltrim(j.p->>'phone', '+') = person->>'phone' then 'exact' else 'normalized' end
            where ltrim(j.p->>'phone', '+') = any (neoapi.phone_forms(person->>'phone'))) m (field, match)
        where e.organization_id = organization and e.type in ('party.deleted', 'lead.deleted')
    $$;

-- All records about a person: those with a value of the person, and those that refer to them or to which they refer (linked).
create function neoapi.subject_records(organization text, person json)
    returns table (id text, field text, match text, is_deleted boolean)
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        with found as materialized (select * from neoapi.subject_matches(organization, person)),
        lead_party as (
            select l.id, l.party_id from neoapi.lead l
            where l.organization_id = organization and l.party_id is not null
              and (l.id in (select f.id from found f) or l.party_id in (select f.id from found f))
            union
            select l.id, l.party_id from found f
            join neoapi.whatsapp_conversation c on c.organization_id = organization and c.id = f.id
            join neoapi.lead l on l.organization_id = organization and l.id = c.lead_id),
        person_id as materialized (
            select * from found
            union all select p.party_id, 'party_id', 'linked', false from lead_party p where p.party_id is not null
            union all select p.id, 'party_id', 'linked', false from lead_party p),
        linked as (
            select * from person_id
            union all
            select c.id, 'lead_id', 'linked', false from neoapi.whatsapp_conversation c
            where c.organization_id = organization and c.lead_id in (select p.id from person_id p where p.id like 'led\_%')
            union all
            select r.source_id, 'related', 'linked', false from neoapi.reference r
            where r.organization_id = organization and r.party_id in (select p.id from person_id p where p.id like 'pty\_%')
              and r.source_id like 'doc\_%')
        select distinct on (l.id) l.id, l.field, l.match, l.is_deleted from linked l
        order by l.id, l.is_deleted, array_position(array['exact', 'normalized', 'linked'], l.match), l.field
    $$;

-- How many events, deliveries and stored responses are about these records. Also when the last event and delivery were created, and when
-- the last stored response expires.
create function neoapi.subject_traces(organization text, ids text[], out events bigint, out deliveries bigint, out responses bigint,
                                      out last_event timestamptz, out last_delivery timestamptz, out last_expiry timestamptz)
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    everything text[] := ids || array(
        select m.id from neoapi.whatsapp_message m where m.organization_id = organization and m.conversation_id = any (ids));
    found text[];
begin
    select count(*), max(e.created_at), coalesce(array_agg(e.id), '{}') into events, last_event, found
    from neoapi.event e where e.organization_id = organization and e.resource_id = any (everything);
    select count(*), max(d.created_at) into deliveries, last_delivery from neoapi.webhook_subscription s
    join neoapi.webhook_delivery d on d.organization_id = s.organization_id and d.subscription_id = s.id and d.event_id = any (found)
    where s.organization_id = organization;
    select count(distinct (k.credential_id, k.key)), max(k.expires_at) -- a join, because a search for each id would be quadratic
    into responses, last_expiry
    from neoapi.idempotency_key k cross join lateral string_to_table(k.response_body, '"') t (word) join unnest(ids) i (id) on i.id = t.word
    where k.organization_id = organization;
end $$;

-- The answer of GET /subjects.
create function neoapi.find_subject(organization text, person json) returns json
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    records json;
    ids text[];
    traces record;
begin
    select coalesce(json_agg(json_build_object('type', t.type, 'id', r.id, 'field', r.field, 'match', r.match, 'deleted', r.is_deleted)
                             order by t.type, r.id), '[]'), coalesce(array_agg(r.id), '{}')
    into records, ids
    from neoapi.subject_records(organization, person) r
    cross join lateral (select case left(r.id, 4) when 'pty_' then 'party' when 'led_' then 'lead' when 'wac_' then 'conversation'
                                                  else 'document' end as type) t;
    traces := neoapi.subject_traces(organization, ids);
    return json_build_object(
        'records', records,
        'roles', (select coalesce(json_agg(json_build_object(
                      'type', case left(r.source_id, 4) when 'ctr_' then 'contract' when 'pps_' then 'proposal' when 'prp_' then 'property'
                                                        else 'party' end,
                      'id', r.source_id, 'field', r.field) order by r.source_id, r.field), '[]')
                  from neoapi.reference r
                  where r.organization_id = organization and r.party_id = any (ids) and left(r.source_id, 4) not in ('led_', 'doc_')),
        'restricted', (select coalesce(json_agg(json_build_object(
                           'type', case when x.id like 'doc\_%' then 'document' else 'party' end, 'id', x.id,
                           'reason', 'Lei 13.709, art. 16, I', 'because', x.because,
                           'restricted_at', neoapi.format_timestamp(x.restricted_at), 'kept_until', x.kept_until,
                           'record', x.record::json) order by x.id), '[]')
                       from neoapi.restricted_record x
                       where x.organization_id = organization and x.party_id in (
                           select y.party_id from neoapi.restricted_record y
                           where y.organization_id = organization
                             and (y.document_number = person->>'document_number' or lower(y.email) = lower(person->>'email')
                                  or y.phone_key = neoapi.whatsapp_phone_key(person->>'phone')))),
        'events', traces.events,
        'deliveries', traces.deliveries,
        'stored_responses', traces.responses,
        'opt_outs', (select count(*) from neoapi.whatsapp_opt_out o
                     where o.organization_id = organization
                       and (o.lead_id = any (ids)
                            or neoapi.whatsapp_phone_key(o.contact_phone) = neoapi.whatsapp_phone_key(person->>'phone'))),
        'rejected_leads', (select count(*) from neoapi.lead_rejected j
                           where j.organization_id = organization and neoapi.mentions_person(j.body, person)));
end $$;

-- ---------------------------------------------------------------- erasing JSON

-- The value without the personal fields of the objects with these ids, and of messages of conversations with these ids.
create function neoapi.without_person(value json, ids text[], personal json) returns json
    language plpgsql immutable as $$
declare
    fields text[];
begin
    case json_typeof(value)
        when 'object' then
            if value->>'id' = any (ids) or value->>'conversation_id' = any (ids) then
                fields := array(select json_array_elements_text(personal->left(value->>'id', 4)));
            end if;
            return '{' || coalesce((
                select string_agg(to_json(m.key) || ':' || neoapi.without_person(m.value, ids, personal), ',' order by m.n)
                from json_each(value) with ordinality m (key, value, n) where m.key <> all (coalesce(fields, '{}'))), '') || '}';
        when 'array' then
            return '[' || coalesce((select string_agg(neoapi.without_person(m.value, ids, personal)::text, ',' order by m.n)
                                    from json_array_elements(value) with ordinality m (value, n)), '') || ']';
        else return value;
    end case;
end $$;

-- The object without these members.
create function neoapi.without_members(value json, fields text[]) returns json
    language sql immutable parallel safe
    return (select ('{' || coalesce(string_agg(to_json(m.key) || ':' || m.value, ',' order by m.n), '') || '}')::json
            from json_each(value) with ordinality m (key, value, n) where m.key <> all (fields));

-- Erases the personal fields of up to `most` events of these resources after a position, and what receivers answered to their
-- deliveries. Returns the number of events that were examined, of those that had such fields, and the last one's id.
create function neoapi.erase_events(organization text, resources text[], personal json, after text, most int,
                                    out examined int, out erased int, out "position" text)
    language plpgsql volatile as $$
declare
    found text[];
begin
    with chosen as materialized (
        select e.id, e.created_at, e.payload as old_payload, e.previous as old_previous,
               neoapi.without_members(e.payload::json, f.fields)::text as payload,
               case when e.previous is not null then neoapi.without_members(e.previous, f.fields) end as previous
        from neoapi.event e
        cross join lateral (select array(select json_array_elements_text(personal->left(e.resource_id, 4))) as fields) f
        where e.organization_id = organization and e.resource_id = any (resources) and e.id > after
        order by e.id limit most),
    changed as (
        update neoapi.event e set payload = c.payload, previous = c.previous
        from chosen c
        where e.organization_id = organization and e.id = c.id and e.created_at = c.created_at
          and (c.payload <> c.old_payload or c.previous::text <> c.old_previous::text)
        returning 1),
    answered as (
        update neoapi.webhook_attempt a set response_excerpt = null
        from chosen c
        where a.organization_id = organization and a.response_excerpt is not null
          and a.delivery_id > neoapi.event_delivery_block(c.id, c.created_at)
          and a.delivery_id < neoapi.event_delivery_block(c.id, c.created_at) || '{'
        returning 1)
    select array(select c.id from chosen c order by c.id), (select count(*) from changed) into found, erased;
    update neoapi.webhook_attempt a set response_excerpt = null -- of repetitions, whose ids do not say of which event they are
    from neoapi.webhook_subscription s
    join neoapi.webhook_delivery d on d.organization_id = s.organization_id and d.subscription_id = s.id and d.event_id = any (found)
    where s.organization_id = organization and a.organization_id = organization and a.delivery_id = d.id
      and a.response_excerpt is not null;
    examined := cardinality(found);
    "position" := found[examined];
end $$;

-- ---------------------------------------------------------------- erasing records

-- Until when the law obliges to keep a party, and because of which contracts and proposals. No row if it does not. It is ten years after
-- the end (Código Civil, art. 205), which include the five years of tax law (CTN, art. 173 and 174) and of records against money
-- laundering (Lei 9.613, art. 10, § 2).
create function neoapi.party_retention(organization text, party text) returns table (because text[], kept_until date)
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select array_agg(k.id order by k.id),
               case when bool_and(k.ended_on is not null) then (max(k.ended_on) + interval '10 years')::date end
        from (
            select c.id, case when c.status not in ('pending_signature', 'active') then
                       coalesce(greatest(c.end_date, (c.terminated_at at time zone 'UTC')::date), (c.updated_at at time zone 'UTC')::date)
                   end as ended_on
            from neoapi.reference r join neoapi.contract c on c.organization_id = r.organization_id and c.id = r.source_id
            where r.organization_id = organization and r.party_id = party and c.status not in ('draft', 'cancelled')
            union
            select p.id, (coalesce(p.decided_at, p.updated_at) at time zone 'UTC')::date
            from neoapi.reference r join neoapi.proposal p on p.organization_id = r.organization_id and p.id = r.source_id
            where r.organization_id = organization and r.party_id = party and p.status = 'accepted') k
        having count(*) > 0
    $$;

-- Adds the event of an erasure. `is_deleted`: the record was deleted; otherwise it stays without its personal fields.
create function neoapi.add_erased_event(e neoapi.erasure, type text, id text, is_deleted boolean) returns bigint
    language sql volatile
    as $$
        select neoapi.add_event(e.organization_id, type, id, json_build_object(
            'id', id, 'deleted', is_deleted, 'erased_at', neoapi.format_timestamp(date_trunc('milliseconds', now())),
            'tenant_id', e.tenant_id, 'organization_id', e.organization_id)::text, e.actor, e.request_id)
    $$;

create function neoapi.add_count(e neoapi.erasure, what text, more bigint) returns neoapi.erasure
    language plpgsql immutable as $$
begin
    if more > 0 then
        e.counts := e.counts || jsonb_build_object(what, coalesce((e.counts->>what)::bigint, 0) + more);
    end if;
    return e;
end $$;

-- Replaces the opt-outs of a contact by a hash. Returns their number.
create function neoapi.erase_opt_outs(organization text, phone text, bsuid text, lead text) returns bigint
    language plpgsql volatile as $$
declare
    gone bigint;
begin
    with erased as (
        delete from neoapi.whatsapp_opt_out o
        where o.organization_id = organization
          and (neoapi.whatsapp_phone_key(o.contact_phone) = neoapi.whatsapp_phone_key(phone) or o.contact_bsuid = bsuid or o.lead_id = lead)
        returning *),
    kept as (
        insert into neoapi.whatsapp_erased_opt_out as x (organization_id, contact, opted_out_at)
        select organization, k.contact, max(greatest(o.opted_out_at, o.preference_at)) from erased o
        cross join lateral (values (neoapi.erased_contact(organization, neoapi.whatsapp_phone_key(o.contact_phone))),
                                   (neoapi.erased_contact(organization, o.contact_bsuid))) k (contact)
        where k.contact is not null
        group by k.contact
        on conflict (organization_id, contact) do update set opted_out_at = greatest(x.opted_out_at, excluded.opted_out_at)
        returning 1)
    select count(*) into gone from erased;
    return gone;
end $$;

-- Erases up to 200 messages of a conversation with their events, or the conversation if it has none. The number is locked only for the
-- latter, so that callbacks wait for milliseconds at most.
create function neoapi.erase_conversation(e neoapi.erasure, personal json, conversation text) returns neoapi.erasure
    language plpgsql volatile as $$
declare
    c neoapi.whatsapp_conversation;
    messages text[] := array(select m.id from neoapi.whatsapp_message m
                             where m.organization_id = e.organization_id and m.conversation_id = conversation limit 200);
    step record;
begin
    if cardinality(messages) > 0 then
        step := neoapi.erase_events(e.organization_id, messages, personal, '', 100000);
        e := neoapi.add_count(e, 'events', step.erased);
        delete from neoapi.whatsapp_status s
        using neoapi.whatsapp_message m
        where m.organization_id = e.organization_id and m.id = any (messages)
          and s.organization_id = m.organization_id and s.provider_message_id = m.provider_message_id;
        delete from neoapi.whatsapp_message m where m.organization_id = e.organization_id and m.id = any (messages);
        return neoapi.add_count(e, 'messages', cardinality(messages));
    end if;
    select x.* into c from neoapi.whatsapp_conversation x where x.organization_id = e.organization_id and x.id = conversation;
    if not found then
        return e; -- another erasure has erased it
    end if;
    perform neoapi.whatsapp_lock_numbers(array[c.number_id]);
    perform from neoapi.whatsapp_conversation x where x.organization_id = e.organization_id and x.id = conversation for update;
    if exists (select from neoapi.whatsapp_message m where m.organization_id = e.organization_id and m.conversation_id = conversation) then
        return e; -- a message arrived meanwhile
    end if;
    e := neoapi.add_count(e, 'opt_outs', neoapi.erase_opt_outs(e.organization_id, c.contact_wa_id, c.contact_bsuid, c.lead_id));
    delete from neoapi.whatsapp_conversation x where x.organization_id = e.organization_id and x.id = conversation;
    return neoapi.add_count(e, 'conversations', 1);
end $$;

-- Keeps a record apart, because of a party's contracts. If it is kept apart already, that one stays: it has the data of the contract.
create function neoapi.restrict_record(organization text, record_id text, record text, p neoapi.party, because text[], kept_until date)
    returns void
    language sql volatile
    as $$
        insert into neoapi.restricted_record
            (organization_id, id, record, party_id, document_number, email, phone_key, because, kept_until)
        values (organization, record_id, record, p.id, p.document_number, p.email, neoapi.whatsapp_phone_key(ltrim(p.phone, '+')), because,
                kept_until)
        on conflict do nothing
    $$;

-- Erases the documents of a party.
create function neoapi.erase_documents(e neoapi.erasure, personal json, p neoapi.party, because text[], kept_until date) returns neoapi.erasure
    language plpgsql volatile as $$
declare
    d neoapi.document;
begin
    for d in select x.* from neoapi.reference r
             join neoapi.document x on x.organization_id = r.organization_id and x.id = r.source_id
             where r.organization_id = e.organization_id and r.party_id = p.id order by x.id limit 200 for update of x loop
        if because is not null then
            perform neoapi.restrict_record(e.organization_id, d.id, d.representation, p, because, kept_until);
        end if;
        delete from neoapi.reference r where r.organization_id = e.organization_id and r.source_id = d.id;
        delete from neoapi.document x where x.organization_id = e.organization_id and x.id = d.id;
        perform neoapi.add_event(e.organization_id, 'document.deleted', d.id,
            neoapi.without_members(d.representation::json, array(select json_array_elements_text(personal->'doc_')))::text,
            e.actor, e.request_id);
        e := neoapi.add_count(e, 'documents', 1);
        e.targets := case when d.id = any (e.targets) then e.targets else e.targets || d.id end;
    end loop;
    return e;
end $$;

-- Erases a party with its documents. Without references to it the row is deleted; otherwise it stays without personal data.
create function neoapi.erase_party(e neoapi.erasure, personal json, party text) returns neoapi.erasure
    language plpgsql volatile as $$
declare
    p neoapi.party;
    kept record;
    fields constant text[] := array(select json_array_elements_text(personal->'pty_'));
    is_deleted boolean;
begin
    select x.* into p from neoapi.party x where x.organization_id = e.organization_id and x.id = party for update;
    if not found then
        return e;
    end if;
    select * into kept from neoapi.party_retention(e.organization_id, party);
    e := neoapi.erase_documents(e, personal, p, kept.because, kept.kept_until);
    if exists (select from neoapi.reference r where r.organization_id = e.organization_id and r.party_id = party and r.source_id like 'doc\_%') then
        return e; -- it has more documents
    end if;
    if kept.because is not null then
        perform neoapi.restrict_record(e.organization_id, p.id, p.representation, p, kept.because, kept.kept_until);
        e := neoapi.add_count(e, 'restricted', 1);
    end if;
    is_deleted := not exists (select from neoapi.reference r
                              where r.organization_id = e.organization_id and r.party_id = party and r.source_id <> party);
    delete from neoapi.reference r
    where r.organization_id = e.organization_id and r.source_id = party and (is_deleted or split_part(r.field, '.', 1) = any (fields));
    if is_deleted then
        delete from neoapi.party x where x.organization_id = e.organization_id and x.id = party;
    else
        execute (
            select 'update neoapi.party set '
                || string_agg(format('%I = %s', a.attname, case when a.attnotnull then quote_literal('[erased]') else 'null' end), ', ')
                || $sql$, updated_at = greatest(date_trunc('milliseconds', now()), updated_at + interval '1 millisecond'), updated_by = $3
                   where organization_id = $1 and id = $2$sql$
            from pg_attribute a where a.attrelid = 'neoapi.party'::regclass and a.attname = any (fields))
        using e.organization_id, party, e.actor;
    end if;
    perform neoapi.add_erased_event(e, 'party.erased', party, is_deleted);
    return neoapi.add_count(e, 'parties', 1);
end $$;

create function neoapi.erase_lead(e neoapi.erasure, lead text) returns neoapi.erasure
    language plpgsql volatile as $$
declare
    l neoapi.lead;
begin
    select x.* into l from neoapi.lead x where x.organization_id = e.organization_id and x.id = lead for update;
    if not found or exists (select from neoapi.whatsapp_conversation c where c.organization_id = e.organization_id and c.lead_id = lead) then
        return e;
    end if;
    e := neoapi.add_count(e, 'opt_outs', neoapi.erase_opt_outs(e.organization_id, l.phone, l.whatsapp_user_id, lead));
    delete from neoapi.reference r where r.organization_id = e.organization_id and r.source_id = lead;
    delete from neoapi.lead x where x.organization_id = e.organization_id and x.id = lead;
    perform neoapi.add_erased_event(e, 'lead.erased', lead, true);
    return neoapi.add_count(e, 'leads', 1);
end $$;

-- ---------------------------------------------------------------- steps

-- Those of the records that are not erased yet. Records that refer to others come first.
create function neoapi.unerased_records(organization text, records text[]) returns setof text
    language sql stable
    as $$
        select r.id from (
            select c.id, 1 as turn from neoapi.whatsapp_conversation c where c.organization_id = organization and c.id = any (records)
            union all
            select l.id, 2 from neoapi.lead l where l.organization_id = organization and l.id = any (records)
            union all
            select p.id, 3 from neoapi.party p
            where p.organization_id = organization and p.id = any (records) and p.name <> '[erased]') r
        order by r.turn, r.id
    $$;

-- The records that an erasure erases: those of the person, or those that its rule has chosen, with their conversations.
create function neoapi.erasure_records(e neoapi.erasure) returns table (id text, is_deleted boolean)
    language sql stable
    as $$
        select r.id, r.is_deleted from neoapi.subject_records(e.organization_id, e.person) r where e.given is null
        union all
        select g, false from unnest(e.given) g
        union all
        select c.id, false from neoapi.whatsapp_conversation c where c.organization_id = e.organization_id and c.lead_id = any (e.given)
    $$;

-- Searches for the records of an erasure and adds them to its targets. Those that are not erased yet come last, and the first of them is
-- the next target. Returns whether something is left to erase.
create function neoapi.search_records(inout e neoapi.erasure, out has_more boolean)
    language plpgsql volatile as $$
declare
    found text[];
    unerased text[];
begin
    select coalesce(array_agg(r.id), '{}'), coalesce(bool_or(r.is_deleted), false) into found, has_more from neoapi.erasure_records(e) r;
    unerased := array(select neoapi.unerased_records(e.organization_id, found));
    has_more := has_more or unerased <> '{}';
    e.targets := array(select t.id from unnest(e.targets || found) t (id) except select u from unnest(unerased) u) || unerased;
    e.target := cardinality(e.targets) - cardinality(unerased) + 1;
end $$;

-- Erases a record, or a part of it, after which it is still the next one. A lead whose conversation was begun after the search is not
-- erased; the next search finds both.
create function neoapi.erase_record(e neoapi.erasure, personal json) returns neoapi.erasure
    language plpgsql volatile as $$
declare
    one constant text := e.targets[e.target];
begin
    e := case left(one, 4) when 'wac_' then neoapi.erase_conversation(e, personal, one) when 'led_' then neoapi.erase_lead(e, one)
                           when 'pty_' then neoapi.erase_party(e, personal, one) else e end;
    if one like 'led\_%' or not exists (select from neoapi.unerased_records(e.organization_id, array[one])) then
        e.target := e.target + 1;
    end if;
    return e;
end $$;

-- Erases rejected leads of portals, and opt-outs without a conversation.
create function neoapi.erase_rest(e neoapi.erasure) returns neoapi.erasure
    language plpgsql volatile as $$
declare
    gone bigint;
begin
    delete from neoapi.lead_rejected j where j.organization_id = e.organization_id and neoapi.mentions_person(j.body, e.person);
    get diagnostics gone = row_count;
    e := neoapi.add_count(e, 'rejected_leads', gone);
    return neoapi.add_count(e, 'opt_outs', neoapi.erase_opt_outs(e.organization_id, e.person->>'phone', null, null));
end $$;

-- Erases the personal fields of the records in the next 200 stored responses. Returns whether there are more.
create function neoapi.erase_responses(inout e neoapi.erasure, personal json, out has_more boolean)
    language plpgsql volatile as $$
declare
    step record;
begin
    with chosen as materialized (
        select k.credential_id, k.key, k.response_body from neoapi.idempotency_key k
        where k.organization_id = e.organization_id
          and (k.credential_id, k.key) > (split_part(e.position, ' ', 1),
                                          coalesce(nullif(split_part(e.position, ' ', 2), ''), '00000000-0000-0000-0000-000000000000')::uuid)
        order by k.credential_id, k.key limit 200),
    about as materialized (
        select c.credential_id, c.key, array_agg(distinct t) as ids
        from chosen c cross join lateral string_to_table(c.response_body, '"') m (word) join unnest(e.targets) t on t = m.word
        where c.response_body like '{%'
        group by c.credential_id, c.key),
    changed as (
        update neoapi.idempotency_key k set response_body = neoapi.without_person(k.response_body::json, a.ids, personal)::text
        from about a
        where k.organization_id = e.organization_id and k.credential_id = a.credential_id and k.key = a.key
          and k.response_body <> neoapi.without_person(k.response_body::json, a.ids, personal)::text
        returning 1)
    select (select count(*) from changed) as erased, (select count(*) from chosen) as seen,
           (select c.credential_id || ' ' || c.key from chosen c order by c.credential_id desc, c.key desc limit 1) as last
    into step;
    e := neoapi.add_count(e, 'stored_responses', step.erased);
    e.position := coalesce(step.last, e.position);
    has_more := step.seen = 200;
end $$;

-- Erases up to 500 events of up to 20 targets. The next target has position ''.
create function neoapi.erase_target_events(e neoapi.erasure, personal json) returns neoapi.erasure
    language plpgsql volatile as $$
declare
    left_over int := 500;
    step record;
begin
    while left_over > 0 and e.target <= cardinality(e.targets) loop
        step := neoapi.erase_events(e.organization_id, array[e.targets[e.target]], personal, e.position, left_over);
        e := neoapi.add_count(e, 'events', step.erased);
        if step.examined = left_over then
            e.position := step.position;
            return e;
        end if;
        left_over := left_over - step.examined - 25;
        e.target := e.target + 1;
        e.position := '';
    end loop;
    return e;
end $$;

-- Does the next step of an erasure. It searches for the records and erases one after another, then their events, then stored responses.
-- Then it searches again, because other requests may have written meanwhile. When nothing is found, it is complete, and the person is
-- removed from it.
create function neoapi.advance_erasure(e neoapi.erasure, personal json) returns neoapi.erasure
    language plpgsql volatile as $$
declare
    step record;
begin
    if e.phase = 'search' then
        step := neoapi.search_records(e);
        e := step.e;
        e.phase := 'records';
    elsif e.phase = 'records' and e.target <= cardinality(e.targets) then
        e := neoapi.erase_record(e, personal);
    elsif e.phase = 'records' then
        e := case when e.given is null then neoapi.erase_rest(e) else e end;
        e.phase := 'events';
        e.target := 1;
        e.position := '';
    elsif e.phase = 'events' then
        e := neoapi.erase_target_events(e, personal);
        e.phase := case when e.target > cardinality(e.targets) then 'responses' else 'events' end;
    else
        step := neoapi.erase_responses(e, personal);
        e := step.e;
        if not step.has_more then
            step := neoapi.search_records(e);
            e := step.e;
            e.phase := case when step.has_more then 'records' else 'done' end;
        end if;
    end if;
    if e.phase = 'done' then
        e.person := null;
        e.completed_at := now();
    end if;
    return e;
end $$;

-- Does the next step of an erasure and returns it, or null if it is complete. If another session is at a step of it, waits for that.
-- `organization` null: of the oldest erasure in progress for which no other session is at a step.
create function neoapi.erasure_step(organization text, erasure text, personal json) returns neoapi.erasure
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    e neoapi.erasure;
begin
    if organization is null then
        select x.* into e from neoapi.erasure x where x.completed_at is null order by x.requested_at limit 1 for update skip locked;
    else
        select x.* into e from neoapi.erasure x
        where x.organization_id = organization and x.id = erasure and x.completed_at is null for update;
    end if;
    if not found then
        return null;
    end if;
    e := neoapi.advance_erasure(e, personal);
    update neoapi.erasure x
    set person = e.person, completed_at = e.completed_at, targets = e.targets, phase = e.phase, target = e.target, position = e.position,
        counts = e.counts
    where x.organization_id = e.organization_id and x.id = e.id;
    if e.completed_at is not null then
        perform neoapi.audit_add('subject.erased', e.tenant_id, e.organization_id, 'erasure', e.id,
            json_strip_nulls(json_build_object('rule', e.rule, 'records', e.targets, 'counts', e.counts)));
    end if;
    return e;
end $$;

create function neoapi.erasure_json(organization text, erasure text) returns json
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select json_strip_nulls(json_build_object(
            'id', e.id, 'status', case when e.completed_at is null then 'running' else 'completed' end,
            'requested_at', neoapi.format_timestamp(e.requested_at), 'completed_at', neoapi.format_timestamp(e.completed_at),
            'requested_by', e.actor, 'records', e.targets, 'counts', e.counts))
        from neoapi.erasure e where e.organization_id = organization and e.id = erasure
    $$;

-- Returns the id of a new erasure, or of that of the same person which is in progress.
create function neoapi.begin_erasure(organization text, tenant text, new_id text, person json, actor text, request text) returns text
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    hash bytea;
    begun text;
begin
    insert into neoapi.privacy_key (organization_id) values (organization) on conflict do nothing;
    hash := neoapi.erased_contact(organization, format('%s %s %s', person->>'document_number', lower(person->>'email'),
                                                       neoapi.whatsapp_phone_key(person->>'phone')));
    insert into neoapi.erasure as x (organization_id, id, tenant_id, person, fingerprint, actor, request_id)
    values (organization, new_id, tenant, person, hash, actor, request)
    on conflict (organization_id, fingerprint) where completed_at is null do update set actor = x.actor -- locks it, so that it cannot end
    returning x.id into begun;
    perform neoapi.audit_add('subject.erasure_begun', tenant, organization, 'erasure', begun,
        json_build_object('parameters', (select json_agg(k) from json_object_keys(person) k)));
    return begun;
end $$;

-- What an erasure would do to the parties, and what GET /subjects finds.
create function neoapi.erasure_preview(organization text, person json) returns json
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select json_build_object(
            'status', 'dry_run',
            'parties', (select coalesce(json_agg(json_strip_nulls(json_build_object(
                            'id', p.id,
                            'becomes', case when k.because is not null then 'restricted'
                                            when exists (select from neoapi.reference r
                                                         where r.organization_id = organization and r.party_id = p.id and r.source_id <> p.id
                                                           and left(r.source_id, 4) not in ('led_', 'doc_')) then 'pseudonymized'
                                            else 'deleted' end,
                            'because', k.because, 'kept_until', k.kept_until)) order by p.id), '[]')
                        from neoapi.subject_records(organization, person) r
                        join neoapi.party p on p.organization_id = organization and p.id = r.id and p.name <> '[erased]'
                        left join lateral neoapi.party_retention(organization, p.id) k on true),
            'found', neoapi.find_subject(organization, person))
    $$;

-- Deletes records that the law no longer obliges to keep. If the contract of others has ended, sets until when they are kept.
create function neoapi.release_restricted() returns void
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from neoapi.restricted_record x where x.kept_until < current_date;
    update neoapi.restricted_record x set kept_until = k.kept_until
    from neoapi.restricted_record o cross join lateral neoapi.party_retention(o.organization_id, o.party_id) k
    where o.kept_until is null and x.organization_id = o.organization_id and x.id = o.id and k.kept_until is not null;
end $$;

-- ---------------------------------------------------------------- the answer to a person

-- The subscriptions that got events of these records: their hosts, and the times of the first and the last successful delivery.
create function neoapi.subject_recipients(organization text, ids text[]) returns json
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select coalesce(json_agg(json_build_object(
            'subscription_id', r.id, 'host', r.host, 'deliveries', r.count, 'first_at', neoapi.format_timestamp(r.first),
            'last_at', neoapi.format_timestamp(r.last)) order by r.id), '[]')
        from (
            select s.id, substring(s.url from '^[a-z]+://([^/?#]+)') as host, count(*) as count, min(a.started_at) as first, max(a.started_at) as last
            from neoapi.webhook_subscription s
            join neoapi.webhook_delivery d on d.organization_id = s.organization_id and d.subscription_id = s.id
                 and d.event_id = any (array(select e.id from neoapi.event e where e.organization_id = organization and e.resource_id = any (ids)))
            join neoapi.webhook_attempt a on a.organization_id = d.organization_id and a.delivery_id = d.id and a.outcome = 'success'
            where s.organization_id = organization
            group by s.id, s.url) r
    $$;

-- A record as the person gets it: its data, where it came from, and until when it is kept.
create function neoapi.subject_record(organization text, record_id text) returns json
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    data json := case left(record_id, 4)
        when 'pty_' then (select x.representation::json from neoapi.party x where x.organization_id = organization and x.id = record_id)
        when 'led_' then (select x.representation::json from neoapi.lead x where x.organization_id = organization and x.id = record_id)
        when 'doc_' then (select x.representation::json from neoapi.document x where x.organization_id = organization and x.id = record_id)
        when 'wac_' then (select neoapi.whatsapp_conversation_json(x)::json from neoapi.whatsapp_conversation x
                          where x.organization_id = organization and x.id = record_id)
        end;
    kept record;
    months int := (select r.months from neoapi.retention_rule r where r.organization_id = organization and r.kind = case left(record_id, 4)
                       when 'led_' then 'leads' when 'wac_' then 'messages' end);
begin
    select * into kept from neoapi.party_retention(organization, record_id);
    return json_strip_nulls(json_build_object(
        'data', data,
        'messages', case when record_id like 'wac\_%' then (
            select json_agg(neoapi.whatsapp_message_json(m)::json order by m.occurred_at, m.id) from neoapi.whatsapp_message m
            where m.organization_id = organization and m.conversation_id = record_id and m.refers_to is null) end,
        'origin', json_build_object(
            'created_by', data->>'created_by', 'created_at', data->>'created_at', 'source', data->>'source', 'origin', data->'origin',
            'consent', coalesce(data->'consent', to_json(data->>'lgpd_consent_at'))),
        'kept', json_build_object(
            'until', kept.kept_until,
            'because', kept.because,
            'months', case when kept.because is null then months end,
            'why', case when kept.because is not null then 'Lei 13.709, art. 16, I: ' || array_to_string(kept.because, ', ')
                        when months is not null then format('Until %s months after the last contact, by the organization''s rule', months)
                        else 'Until it is deleted or erased' end)));
end $$;

-- Until when events, deliveries and stored responses are kept, by the periods of the job "cleanup".
create function neoapi.subject_traces_kept(organization text, ids text[]) returns json
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select json_strip_nulls(json_build_object(
            'events', json_build_object('days', e.days, 'until', (t.last_event at time zone 'UTC')::date + e.days),
            'deliveries', json_build_object('days', d.days, 'until', (t.last_delivery at time zone 'UTC')::date + d.days),
            'stored_responses', json_build_object('days', 1, 'until', (t.last_expiry at time zone 'UTC')::date)))
        from neoapi.subject_traces(organization, ids) t,
             (select s.value::int as days from neoapi.setting s where s.name = 'event_days') e,
             (select s.value::int as days from neoapi.setting s where s.name = 'delivery_days') d
    $$;

-- The answer of POST /subjects/export. `history` has only the latest 10,000 events, because the answer is in memory as a whole.
create function neoapi.export_subject(organization text, person json) returns json
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    max_history constant int := 10000;
    found constant json := neoapi.find_subject(organization, person);
    ids text[];
    all_ids text[];
begin
    select coalesce(array_agg(r->>'id'), '{}') into ids from json_array_elements(found->'records') r;
    all_ids := ids || array(select m.id from neoapi.whatsapp_message m where m.organization_id = organization and m.conversation_id = any (ids));
    return json_build_object(
        'generated_at', neoapi.format_timestamp(now()),
        'organization', (select o.name from neoapi.organization o where o.id = organization),
        'person', person,
        'records', (select coalesce(json_agg((left(r::text, -1) || ',' || substr(neoapi.subject_record(organization, r->>'id')::text, 2))::json), '[]')
                    from json_array_elements(found->'records') r),
        'roles', found->'roles',
        'restricted', found->'restricted',
        'recipients', neoapi.subject_recipients(organization, all_ids),
        'history', (select coalesce(json_agg(json_build_object(
                        'id', h.id, 'type', h.type, 'resource_id', h.resource_id, 'created_at', neoapi.format_timestamp(h.created_at),
                        'actor_id', h.actor) order by h.id), '[]')
                    from (select e.* from neoapi.event e where e.organization_id = organization and e.resource_id = any (all_ids)
                          order by e.id desc limit max_history) h),
        'history_omitted', greatest((found->>'events')::bigint - max_history, 0),
        'counts', json_build_object('events', found->'events', 'deliveries', found->'deliveries', 'stored_responses', found->'stored_responses',
                                    'opt_outs', found->'opt_outs', 'rejected_leads', found->'rejected_leads'),
        'kept', neoapi.subject_traces_kept(organization, ids));
end $$;

-- ---------------------------------------------------------------- retention

-- At most `most` records that a rule would erase now: leads that are not converted and had no contact since; candidates, who are parties
-- whose proposals were all declined and to which nothing else refers; or messages.
create function neoapi.retention_due(organization text, rule_kind text, months int, most int) returns setof text
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    before constant timestamptz := now() - make_interval(months => months);
begin
    if rule_kind = 'leads' then
        return query
        select l.id from neoapi.lead l
        where l.organization_id = organization and l.status <> 'converted' and l.party_id is null
          and greatest(l.received_at, l.created_at, l.updated_at) < before
          and not exists (select from neoapi.whatsapp_conversation c
                          where c.organization_id = organization and c.lead_id = l.id and greatest(c.last_inbound_at, c.updated_at) >= before)
        limit most;
    elsif rule_kind = 'candidates' then
        return query
        select p.id from neoapi.party p
        where p.organization_id = organization and p.updated_at < before and p.name <> '[erased]'
          and exists (select from neoapi.reference r
                      where r.organization_id = organization and r.party_id = p.id and r.field = 'proponent_ids')
          and not exists (select from neoapi.reference r
                          left join neoapi.proposal o on o.organization_id = r.organization_id and o.id = r.source_id
                          where r.organization_id = organization and r.party_id = p.id and r.source_id not like 'doc\_%'
                            and not coalesce(o.status in ('rejected', 'withdrawn', 'expired') and coalesce(o.decided_at, o.updated_at) < before, false))
        limit most;
    else
        return query
        select m.id from neoapi.whatsapp_message m
        where m.organization_id = organization and m.occurred_at < before and m.status <> 'pending' limit most;
    end if;
end $$;

-- Deletes messages, and the personal fields of their events. Their conversations stay. Returns their number.
create function neoapi.erase_messages(organization text, messages text[], personal json) returns bigint
    language plpgsql volatile as $$
begin
    perform neoapi.erase_events(organization, messages, personal, '', 100000);
    delete from neoapi.whatsapp_status s using neoapi.whatsapp_message m
    where m.organization_id = organization and m.id = any (messages)
      and s.organization_id = m.organization_id and s.provider_message_id = m.provider_message_id;
    delete from neoapi.whatsapp_message m where m.organization_id = organization and m.id = any (messages);
    return cardinality(messages);
end $$;

-- Runs the rule that was checked longest ago: begins an erasure of up to 100 records, or deletes up to 200 messages. A rule with an
-- erasure in progress waits for its end. Returns false if no rule is due; otherwise there may be more to do.
create function neoapi.run_retention(personal json) returns boolean
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    rule neoapi.retention_rule;
    due text[];
begin
    select r.* into rule from neoapi.retention_rule r
    where coalesce(r.checked_at < now() - interval '1 hour', true)
      and not exists (select from neoapi.erasure e where e.organization_id = r.organization_id and e.rule = r.kind and e.completed_at is null)
    order by r.checked_at nulls first limit 1 for update skip locked;
    if not found then
        return false;
    end if;
    due := array(select d from neoapi.retention_due(rule.organization_id, rule.kind, rule.months, case rule.kind when 'messages' then 200 else 100 end) d);
    if rule.kind = 'messages' then
        perform neoapi.erase_messages(rule.organization_id, due, personal);
    elsif due <> '{}' then
        insert into neoapi.privacy_key (organization_id) values (rule.organization_id) on conflict do nothing;
        insert into neoapi.erasure (organization_id, id, tenant_id, rule, given, fingerprint, actor)
        select o.id, 'ers_' || lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || left(replace(gen_random_uuid()::text, '-', ''), 14),
               o.tenant_id, rule.kind, due, convert_to('retention ' || rule.kind, 'UTF8'), 'retention'
        from neoapi.organization o where o.id = rule.organization_id;
    end if;
    update neoapi.retention_rule r
    set checked_at = case when due = '{}' then now() end, erased = erased + cardinality(due),
        last_erased_at = case when due = '{}' then last_erased_at else now() end
    where r.organization_id = rule.organization_id and r.kind = rule.kind;
    if due <> '{}' then
        perform neoapi.audit_add('retention.run', (select o.tenant_id from neoapi.organization o where o.id = rule.organization_id),
            rule.organization_id, 'erasure', (select e.id from neoapi.erasure e where e.organization_id = rule.organization_id
                                              and e.rule = rule.kind and e.completed_at is null),
            json_build_object('kind', rule.kind, 'months', rule.months, 'records', cardinality(due)));
    end if;
    return true;
end $$;

-- ---------------------------------------------------------------- privileges

revoke execute on function neoapi.subject_matches, neoapi.subject_records, neoapi.subject_traces, neoapi.find_subject, neoapi.party_retention,
    neoapi.erasure_step, neoapi.erasure_json, neoapi.begin_erasure, neoapi.erasure_preview, neoapi.release_restricted, neoapi.subject_recipients,
    neoapi.subject_record, neoapi.subject_traces_kept, neoapi.export_subject, neoapi.retention_due, neoapi.run_retention from public;
grant execute on function neoapi.find_subject, neoapi.erasure_step, neoapi.erasure_json, neoapi.begin_erasure, neoapi.erasure_preview,
    neoapi.release_restricted, neoapi.export_subject, neoapi.run_retention to :runtime;
grant select (organization_id, completed_at) on neoapi.erasure to :runtime;
