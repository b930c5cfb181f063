-- SPDX-License-Identifier: Apache-2.0
-- Creates the table of WhatsApp's identities, which decides to which contact a message belongs, and the functions that apply it.
--
-- doc/whatsapp.md explains the rules. In short: a phone belongs to one contact at a time, a change of number ends the period of the
-- old phone and begins one of the new phone, and a business-scoped user id always belongs to one contact. Rows that share a period,
-- an id or a link are one contact, which is one conversation per number. The rows have timestamps of their own, so that the order
-- in which they arrive does not matter.

create table neoapi.whatsapp_identity (
    organization_id text collate "C" not null,
    id              bigint generated always as identity,
    number_id       text collate "C" not null,
    conversation_id text collate "C" not null,
    source          text collate "C" not null, -- what reported it: the same report is stored once
    -- lead: an administrator gave a lead this phone; sent: a message was sent there; seen: the contact wrote; returned: the provider
    -- said that a message went there; left and joined: the contact left the phone, or has it since then
    kind            text not null check (kind in ('lead', 'sent', 'seen', 'returned', 'left', 'joined')),
    at              timestamptz not null,      -- in whole seconds, like the provider's timestamps
    wa_id           text collate "C",
    phone           text collate "C",          -- the key of wa_id
    bsuid           text collate "C",
    link            text collate "C",          -- rows with the same one are the same contact
    boundary        timestamptz,               -- of left and joined: when the phone's next period begins
    name            text,
    lead_id         text collate "C",
    preference      text check (preference in ('stop', 'resume')),
    preference_at   timestamptz,
    primary key (id),
    unique (source, number_id),
    foreign key (organization_id, conversation_id) references neoapi.whatsapp_conversation (organization_id, id) on delete cascade,
    foreign key (organization_id, lead_id) references neoapi.lead (organization_id, id) on delete set null (lead_id)
);
-- No index begins with organization_id: before the table is analyzed PostgreSQL would use any of them for that column alone, and
-- read all rows of the organization.
create index whatsapp_identity_phone on neoapi.whatsapp_identity (phone, number_id, at) where phone is not null;
create index whatsapp_identity_boundary on neoapi.whatsapp_identity (phone, number_id, boundary) where boundary is not null;
create index whatsapp_identity_bsuid on neoapi.whatsapp_identity (bsuid, number_id) where bsuid is not null;
create index whatsapp_identity_link on neoapi.whatsapp_identity (link, number_id) where link is not null;
create index whatsapp_identity_conversation on neoapi.whatsapp_identity (conversation_id, at);
create index whatsapp_identity_preference on neoapi.whatsapp_identity (conversation_id, preference, preference_at)
    where preference is not null;
create index whatsapp_identity_lead on neoapi.whatsapp_identity (conversation_id) where kind = 'lead';
create index whatsapp_identity_lead_id on neoapi.whatsapp_identity (lead_id) where lead_id is not null;

-- Which row counts if two are of the same second.
create function neoapi.whatsapp_identity_rank(kind text) returns int
    language sql immutable strict parallel safe
    return array_position(array['lead', 'sent', 'seen', 'returned', 'left', 'joined'], kind);

-- Locks the numbers until the end of the transaction: their identities and conversations are changed by one transaction at a time.
create function neoapi.whatsapp_lock_numbers(numbers text[]) returns void
    language sql volatile
    as $$
        select pg_advisory_xact_lock(hashtext('neoapi.whatsapp_number'), n.slot)
        from (select distinct hashtext(u) as slot from unnest(numbers) u order by 1) n
    $$;

-- The period of a phone that contains the moment: [since, until).
create function neoapi.whatsapp_phone_period(organization text, number text, key text, moment timestamptz,
                                       out since timestamptz, out until timestamptz)
    language sql stable
    as $$
        select coalesce((select max(i.boundary) from neoapi.whatsapp_identity i
                         where i.organization_id = organization and i.number_id = number and i.phone = key
                           and i.boundary <= moment), '-infinity'),
               coalesce((select min(i.boundary) from neoapi.whatsapp_identity i
                         where i.organization_id = organization and i.number_id = number and i.phone = key
                           and i.boundary > moment), 'infinity')
    $$;

-- The conversations of the other rows that share the row's link, user id or period; without null. One lookup for each, because
-- PostgreSQL then uses its index whatever the table's statistics are.
create function neoapi.whatsapp_conversations_of(i neoapi.whatsapp_identity) returns text[]
    language plpgsql stable as $$
declare
    period record;
    by_link text;
    by_bsuid text;
    by_phone text;
begin
    if i.link is not null then
        select o.conversation_id into by_link from neoapi.whatsapp_identity o
        where o.organization_id = i.organization_id and o.number_id = i.number_id and o.link = i.link
          and o.id is distinct from i.id limit 1;
    end if;
    if i.bsuid is not null then
        select o.conversation_id into by_bsuid from neoapi.whatsapp_identity o
        where o.organization_id = i.organization_id and o.number_id = i.number_id and o.bsuid = i.bsuid
          and o.id is distinct from i.id limit 1;
    end if;
    if i.phone is not null then
        period := neoapi.whatsapp_phone_period(i.organization_id, i.number_id, i.phone, i.at);
        select o.conversation_id into by_phone from neoapi.whatsapp_identity o
        where o.organization_id = i.organization_id and o.number_id = i.number_id and o.phone = i.phone
          and o.at >= period.since and o.at < period.until and o.id is distinct from i.id limit 1;
    end if;
    return array_remove(array[by_link, by_bsuid, by_phone], null);
end $$;

-- Copies the latest opt-out that was imported for the conversation's contact into the conversation.
create function neoapi.whatsapp_copy_import(c neoapi.whatsapp_conversation) returns void
    language plpgsql volatile as $$
declare
    opt_out neoapi.whatsapp_opt_out := neoapi.whatsapp_latest_opt_out(c);
begin
    update neoapi.whatsapp_conversation x
    set imported_stop_from = opt_out.opted_out_at, imported_stop_last = greatest(opt_out.opted_out_at, opt_out.preference_at)
    where x.organization_id = c.organization_id and x.id = c.id
      and greatest(opt_out.opted_out_at, opt_out.preference_at) > coalesce(x.imported_stop_last, '-infinity');
end $$;

-- Since when the contact has opted out, which is its earliest stop since its last resume, and the time of its last stop or resume,
-- by the identities with ids up to `known`; null: by all.
create function neoapi.whatsapp_preference(c neoapi.whatsapp_conversation, known bigint, out opted_out_at timestamptz,
                                           out preference_at timestamptz)
    language sql stable
    as $$
        with sent as materialized (
            select i.preference, i.preference_at as at from neoapi.whatsapp_identity i
            where i.organization_id = c.organization_id and i.conversation_id = c.id and i.preference is not null
              and (known is null or i.id <= known)
            union all
            select 'stop', s from unnest(array[c.imported_stop_from, c.imported_stop_last, c.recorded_stop_at]) s),
        resumed as (select max(r.at) as at from sent r where r.preference = 'resume')
        select min(s.at), greatest(max(s.at), r.at)
        from resumed r left join sent s on s.preference = 'stop' and s.at >= coalesce(r.at, '-infinity') group by r.at
    $$;

-- The contact's state, as its rows say: the phone and the user id that it has now, its name and lead, and whether it has opted out.
create function neoapi.whatsapp_contact_state(c neoapi.whatsapp_conversation, out wa_id text, out bsuid text, out name text,
                                              out lead_id text, out opted_out_at timestamptz, out preference_at timestamptz)
    language plpgsql stable as $$
declare
    latest neoapi.whatsapp_identity;
begin
    -- A phone that a lead has counts only if the provider has named none.
    for latest in
        select i.* from neoapi.whatsapp_identity i
        where i.organization_id = c.organization_id and i.conversation_id = c.id and i.phone is not null
          and not exists (select from neoapi.whatsapp_identity b
                          where b.organization_id = i.organization_id and b.number_id = i.number_id and b.phone = i.phone
                            and b.boundary > i.at)
        order by i.at desc, neoapi.whatsapp_identity_rank(i.kind) desc, i.wa_id desc
    loop
        wa_id := case when latest.kind = 'lead' then coalesce(wa_id, latest.wa_id) else latest.wa_id end;
        exit when latest.kind <> 'lead';
    end loop;
    select case when i.kind <> 'left' then i.bsuid end into bsuid from neoapi.whatsapp_identity i
    where i.organization_id = c.organization_id and i.conversation_id = c.id and (i.bsuid is not null or i.kind = 'left')
    order by i.at desc, neoapi.whatsapp_identity_rank(i.kind) desc, i.bsuid desc limit 1;
    select i.lead_id, i.name into lead_id, name from neoapi.whatsapp_identity i
    where i.organization_id = c.organization_id and i.conversation_id = c.id and i.kind = 'lead' and i.lead_id is not null
    order by i.at desc, i.lead_id desc limit 1;
    name := coalesce((select i.name from neoapi.whatsapp_identity i
                      where i.organization_id = c.organization_id and i.conversation_id = c.id and i.kind <> 'lead'
                        and i.name is not null
                      order by i.at desc, i.name desc limit 1), name);
    select p.opted_out_at, p.preference_at into opted_out_at, preference_at from neoapi.whatsapp_preference(c, null) p;
end $$;

-- Updates what a conversation stores of its contact's state.
create function neoapi.whatsapp_refresh(organization text, conversation text) returns void
    language plpgsql volatile as $$
declare
    c neoapi.whatsapp_conversation;
    s record;
begin
    for turn in 1..2 loop -- an opt-out is also imported for ids that only the new state has
        select x.* into c from neoapi.whatsapp_conversation x where x.organization_id = organization and x.id = conversation for update;
        perform neoapi.whatsapp_copy_import(c);
        select x.* into c from neoapi.whatsapp_conversation x where x.organization_id = organization and x.id = conversation;
        s := neoapi.whatsapp_contact_state(c);
        update neoapi.whatsapp_conversation x
        set contact_wa_id = s.wa_id, contact_bsuid = s.bsuid, contact_name = s.name, lead_id = coalesce(s.lead_id, x.lead_id),
            triage = case when s.lead_id is not null and x.triage = 'pending' and x.triage_at is null then 'assigned'
                          else x.triage end,
            opted_out_at = s.opted_out_at, preference_at = s.preference_at, updated_at = now()
        where x.organization_id = organization and x.id = conversation
          and (x.contact_wa_id, x.contact_bsuid, x.contact_name, x.lead_id, x.opted_out_at, x.preference_at)
              is distinct from (s.wa_id, s.bsuid, s.name, coalesce(s.lead_id, x.lead_id), s.opted_out_at, s.preference_at);
        exit when not found;
    end loop;
end $$;

-- Whether messages of the type are the contact's own new ones: they are unread, and open the window unless sent to a group.
create function neoapi.whatsapp_is_new_message(type text) returns boolean
    language sql immutable strict parallel safe
    return type <> all (array['system', 'edit', 'revoke']);

-- How many of the contact's messages are later than the last one that was read.
create function neoapi.whatsapp_unread_count(organization text, conversation text, last_read_at timestamptz) returns int
    language sql stable
    as $$
        select count(*)::int from neoapi.whatsapp_message m
        where m.organization_id = organization and m.conversation_id = conversation and m.direction = 'inbound'
          and neoapi.whatsapp_is_new_message(m.type) and m.occurred_at > coalesce(last_read_at, '-infinity')
    $$;

-- The contacts that the rows of these conversations are: of each the rows, their conversations, whether one of them is a lead's,
-- and whether the contact is known by more than what the provider returned for a message to somebody else. There are few distinct
-- combinations of period, user id and link, whatever the number of rows.
create function neoapi.whatsapp_contacts_in(organization text, conversations text[])
    returns table (members bigint[], origins text[], has_lead boolean, is_contact boolean)
    language sql stable
    as $$
        with recursive unit as materialized (
            select row_number() over () as n, u.* from (
                select array_remove(array['phone ' || i.phone || ' ' || t.since, 'bsuid ' || i.bsuid, 'link ' || i.link], null) as nodes,
                       array_agg(i.id) as ids, array_agg(distinct i.conversation_id) as origins, bool_or(i.kind = 'lead') as has_lead,
                       bool_or(i.kind not in ('sent', 'returned')) as is_contact,
                       min(i.at) as first
                from neoapi.whatsapp_identity i
                left join lateral neoapi.whatsapp_phone_period(i.organization_id, i.number_id, i.phone, i.at) t on i.phone is not null
                where i.organization_id = organization and i.conversation_id = any (conversations)
                group by 1) u),
        reached (n, root) as (
            select u.n, u.n from unit u
            union
            select o.n, r.root from reached r join unit u on u.n = r.n join unit o on o.nodes && u.nodes),
        contact as (select r.n, min(r.root) as root from reached r group by r.n)
        select array_agg(distinct m.id), array_agg(distinct o.id), bool_or(u.has_lead), bool_or(u.is_contact)
        from contact k join unit u on u.n = k.n, unnest(u.ids) m (id), unnest(u.origins) o (id)
        group by k.root order by bool_or(u.is_contact) desc, bool_or(u.has_lead) desc, min(u.first), min(m.id)
    $$;

-- Gives one contact's rows to one of the conversations that they were in and that is not taken, or else to a new one, which
-- inherits from all of them. One from which messages were sent is preferred, because clients know its id.
create function neoapi.whatsapp_assign(organization text, members bigint[], origins text[], taken text[], has_lead boolean,
                                       split_id text) returns text
    language plpgsql volatile as $$
declare
    chosen text;
begin
    select c.id into chosen from neoapi.whatsapp_conversation c
    where c.organization_id = organization and c.id = any (origins) and c.id <> all (taken)
    order by exists (select from neoapi.whatsapp_message m where m.organization_id = organization and m.conversation_id = c.id
                     and m.direction = 'outbound') desc, c.created_at, c.id limit 1;
    if chosen is null and split_id is null then
        chosen := origins[1];
    elsif chosen is null then
        insert into neoapi.whatsapp_conversation (organization_id, id, number_id, triage, created_at, updated_at)
        select organization, split_id, c.number_id, 'pending', now(), now() from neoapi.whatsapp_conversation c
        where c.organization_id = organization and c.id = origins[1];
        chosen := split_id;
    end if;
    update neoapi.whatsapp_conversation c
    set lead_id = case when has_lead then c.lead_id end,
        triage = coalesce(o.triage, case when not has_lead and c.lead_id is not null then 'pending' else c.triage end),
        triage_at = o.triage_at, last_read_at = o.last_read_at, held = o.held, is_provisional = o.is_provisional,
        imported_stop_from = o.imported_stop_from, imported_stop_last = o.imported_stop_last, recorded_stop_at = o.recorded_stop_at,
        created_at = least(c.created_at, case when chosen <> split_id then o.created_at end)
    from (select (array_agg(x.triage order by x.triage_at desc) filter (where x.triage_at is not null))[1] as triage,
                 max(x.triage_at) as triage_at, max(x.last_read_at) as last_read_at, bool_or(x.held) as held, bool_and(x.is_provisional) as is_provisional,
                 min(x.imported_stop_from) as imported_stop_from, max(x.imported_stop_last) as imported_stop_last,
                 max(x.recorded_stop_at) as recorded_stop_at, min(x.created_at) as created_at
          from neoapi.whatsapp_conversation x where x.organization_id = organization and x.id = any (origins)) o
    where c.organization_id = organization and c.id = chosen;
    update neoapi.whatsapp_identity i set conversation_id = chosen
    where i.organization_id = organization and i.id = any (members) and i.conversation_id <> chosen;
    return chosen;
end $$;

-- Merges and splits conversations so that each has the rows and messages of one contact. `split_id` is the id for a new one; one
-- boundary splits one contact.
create function neoapi.whatsapp_regroup(organization text, conversations text[], split_id text) returns void
    language plpgsql volatile as $$
declare
    contact record;
    taken text[] := '{}';
    one text;
begin
    perform from neoapi.whatsapp_conversation c
    where c.organization_id = organization and c.id = any (conversations) order by c.id for update;
    perform neoapi.whatsapp_copy_import(c) from neoapi.whatsapp_conversation c
    where c.organization_id = organization and c.id = any (conversations);
    for contact in select * from neoapi.whatsapp_contacts_in(organization, conversations) loop
        if not contact.is_contact then
            delete from neoapi.whatsapp_identity i where i.organization_id = organization and i.id = any (contact.members);
            continue;
        end if;
        taken := taken || neoapi.whatsapp_assign(organization, contact.members, contact.origins, taken, contact.has_lead, split_id);
    end loop;
    update neoapi.whatsapp_message m
    set conversation_id = coalesce((select i.conversation_id from neoapi.whatsapp_identity i
                                    where i.organization_id = organization and i.id = m.identity_id), taken[1])
    where m.organization_id = organization and m.conversation_id = any (conversations);
    -- The opt-outs that were derived from the former contacts are derived again.
    delete from neoapi.whatsapp_opt_out o
    where o.organization_id = organization and o.id in (select 'wao_' || right(c, 26) from unnest(conversations) c);
    delete from neoapi.whatsapp_conversation c
    where c.organization_id = organization and c.id = any (conversations) and c.id <> all (taken);
    update neoapi.whatsapp_conversation c
    set opted_out_at = null, preference_at = null, unread_count = neoapi.whatsapp_unread_count(organization, c.id, c.last_read_at),
        last_inbound_at = m.last, updated_at = now()
    from unnest(taken) t (id) cross join lateral (
        select max(x.occurred_at) as last from neoapi.whatsapp_message x
        where x.organization_id = organization and x.conversation_id = t.id and not x.is_group and x.direction = 'inbound'
          and neoapi.whatsapp_is_new_message(x.type)) m
    where c.organization_id = organization and c.id = t.id;
    foreach one in array taken loop
        perform neoapi.whatsapp_refresh(organization, one);
    end loop;
end $$;

-- Inserts a contact's first conversation. The lead with its phone, if any, is stored as an identity of its own.
create function neoapi.whatsapp_new_conversation(i neoapi.whatsapp_identity, new_id text) returns void
    language plpgsql volatile as $$
declare
    lead neoapi.lead;
begin
    insert into neoapi.whatsapp_conversation (organization_id, id, number_id, triage, created_at, updated_at)
    values (i.organization_id, new_id, i.number_id, 'pending', now(), now());
    select l.* into lead from neoapi.lead l
    where l.organization_id = i.organization_id and neoapi.whatsapp_phone_key(l.phone) = i.phone and i.kind <> 'lead';
    if found and (neoapi.whatsapp_phone_period(i.organization_id, i.number_id, i.phone, date_trunc('second', lead.phone_at))).since
               = (neoapi.whatsapp_phone_period(i.organization_id, i.number_id, i.phone, i.at)).since then
        perform neoapi.whatsapp_add_identity(neoapi.whatsapp_lead_identity(lead, i.number_id), new_id, null);
    end if;
end $$;

-- The identity of a lead with its phone.
create function neoapi.whatsapp_lead_identity(lead neoapi.lead, number text) returns neoapi.whatsapp_identity
    language sql stable
    return json_populate_record(null::neoapi.whatsapp_identity, json_build_object(
        'organization_id', (lead).organization_id, 'number_id', number, 'kind', 'lead', 'lead_id', (lead).id, 'name', (lead).name,
        'source', concat_ws(' ', 'lead', (lead).id, (lead).phone, extract(epoch from (lead).phone_at)), 'wa_id', (lead).phone,
        'at', date_trunc('second', (lead).phone_at)));

-- Stores an identity, unless it exists, and returns its row with the conversation, which is locked. The caller has
-- locked the number. `new_id` and `split_id` are ids for new conversations; only left and joined can need split_id. If there is a
-- new conversation, or the contact has changed, the caller must call whatsapp_refresh.
create function neoapi.whatsapp_add_identity(i neoapi.whatsapp_identity, new_id text, split_id text) returns neoapi.whatsapp_identity
    language plpgsql volatile as $$
declare
    known neoapi.whatsapp_identity;
    holders text[];
    is_split boolean := false;
begin
    i.phone := neoapi.whatsapp_phone_key(i.wa_id);
    i.boundary := case when i.phone is not null then
        case i.kind when 'left' then i.at + interval '1 second' when 'joined' then i.at end end;
    loop -- until the conversation is locked: neoapictl can remove it
        select o.* into known from neoapi.whatsapp_identity o
        where o.organization_id = i.organization_id and o.number_id = i.number_id and o.source = i.source;
        holders := case when known.id is null then neoapi.whatsapp_conversations_of(i) else array[known.conversation_id] end;
        exit when cardinality(holders) = 0;
        perform from neoapi.whatsapp_conversation c where c.organization_id = i.organization_id and c.id = holders[1] for update;
        exit when found;
    end loop;
    if known.id is not null then
        return known;
    end if;
    i.conversation_id := coalesce(holders[1], new_id);
    if cardinality(holders) = 0 and not exists (select from neoapi.whatsapp_conversation c
            where c.organization_id = i.organization_id and c.id = new_id) then
        perform neoapi.whatsapp_new_conversation(i, new_id);
    end if;
    i.id := nextval('neoapi.whatsapp_identity_id_seq');
    insert into neoapi.whatsapp_identity overriding system value select i.*;
    if i.boundary is not null then -- does it separate stored identities?
        is_split := exists (select from neoapi.whatsapp_identity o
            where o.organization_id = i.organization_id and o.number_id = i.number_id and o.phone = i.phone and o.id <> i.id
              and case i.kind when 'left' then o.at >= i.boundary else o.at < i.boundary end);
        holders := neoapi.whatsapp_conversations_of(i) || array(select distinct o.conversation_id from neoapi.whatsapp_identity o
            where o.organization_id = i.organization_id and o.number_id = i.number_id and o.phone = i.phone);
    end if;
    if is_split or i.conversation_id <> any (holders) then
        perform neoapi.whatsapp_regroup(i.organization_id, array(select distinct h from unnest(holders || i.conversation_id) h), split_id);
        select o.conversation_id into i.conversation_id from neoapi.whatsapp_identity o
        where o.organization_id = i.organization_id and o.id = i.id;
    end if;
    return i;
end $$;

-- Stores that a message went to this contact, as the provider says; optionally that the contact had sent stop.
create function neoapi.whatsapp_add_recipient(m neoapi.whatsapp_message, number text, wa_id text, bsuid text, stopped_at timestamptz)
    returns void
    language plpgsql volatile as $$
declare
    i neoapi.whatsapp_identity;
begin
    i.organization_id := m.organization_id;
    i.number_id := number;
    i.at := date_trunc('second', m.occurred_at);
    if stopped_at is null and coalesce(wa_id = m.recipient_wa_id, wa_id is null) and (bsuid is null or exists (
            select from neoapi.whatsapp_identity o where o.organization_id = m.organization_id and o.number_id = number
            and o.bsuid = whatsapp_add_recipient.bsuid and o.conversation_id = m.conversation_id)) then
        return; -- nothing new
    end if;
    i.link := m.id;
    i.source := 'sent ' || m.id;
    i.kind := 'sent';
    i.wa_id := m.recipient_wa_id;
    i.phone := neoapi.whatsapp_phone_key(i.wa_id);
    i.bsuid := m.recipient_bsuid;
    if cardinality(neoapi.whatsapp_conversations_of(i)) = 0 then
        return; -- another contact has the phone since, from whom nothing is known
    end if;
    perform neoapi.whatsapp_add_identity(i, m.conversation_id, null);
    i.source := concat_ws(' ', 'recipient', m.id, wa_id, bsuid, extract(epoch from stopped_at));
    i.kind := 'returned';
    i.wa_id := wa_id;
    i.bsuid := bsuid;
    i.preference := case when stopped_at is not null then 'stop' end;
    i.preference_at := stopped_at;
    i := neoapi.whatsapp_add_identity(i, m.conversation_id, null);
    perform neoapi.whatsapp_refresh(i.organization_id, i.conversation_id);
end $$;
