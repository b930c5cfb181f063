-- SPDX-License-Identifier: Apache-2.0
-- Creates the tables of what the provider reports about an organization's accounts: how many messages it bills, the state of numbers,
-- and message templates (see doc/whatsapp.md).

-- ---------------------------------------------------------------- billing

-- The messages of each month, in UTC, by the category of the rate that the provider reports. Counted by a trigger, because a month
-- can have millions of messages. Failed messages are not counted. Rows remain when conversations or numbers are removed.
create table neoapi.whatsapp_usage (
    organization_id text collate "C" not null references neoapi.organization (id),
    month           date not null check (extract(day from month) = 1),
    number_id       text collate "C" not null,
    category        text collate "C" not null,
    messages        bigint not null,
    billable        bigint not null,
    primary key (organization_id, month, number_id, category)
);

grant select on neoapi.whatsapp_usage to :runtime;

-- Only one transaction at a time changes the messages of a number, so the counters do not deadlock.
create function neoapi.whatsapp_count_usage() returns trigger language plpgsql as $$
begin
    insert into neoapi.whatsapp_usage as u (organization_id, month, number_id, category, messages, billable)
    select new.organization_id, date_trunc('month', new.occurred_at at time zone 'UTC')::date, c.number_id,
           coalesce(k.pricing->>'category', 'unknown'), sum(k.n), sum(case when (k.pricing->>'billable')::boolean then k.n else 0 end)
    from (values (new.pricing, new.status, 1), (old.pricing, old.status, -1)) k (pricing, status, n)
    join neoapi.whatsapp_conversation c on c.organization_id = new.organization_id and c.id = new.conversation_id
    where k.pricing is not null and k.status <> 'failed'
    group by 3, 4
    on conflict (organization_id, month, number_id, category)
    do update set messages = u.messages + excluded.messages, billable = u.billable + excluded.billable;
    return null;
end $$;
create trigger count_usage_on_insert after insert on neoapi.whatsapp_message
    for each row when (new.pricing is not null) execute function neoapi.whatsapp_count_usage();
create trigger count_usage_on_update after update on neoapi.whatsapp_message for each row
    when (old.pricing::text is distinct from new.pricing::text
          or new.pricing is not null and (old.status = 'failed') <> (new.status = 'failed'))
    execute function neoapi.whatsapp_count_usage();

-- ---------------------------------------------------------------- when the provider was asked

-- What was read from the provider, for each account: templates and numbers. It is read again after ten minutes, or when a callback
-- says that it has changed.
create table neoapi.whatsapp_report (
    organization_id text collate "C" not null references neoapi.organization (id),
    waba_id         text collate "C" not null,
    kind            text not null check (kind in ('templates', 'numbers')),
    read_at         timestamptz, -- when reading it last began, if it succeeded; null: never
    tried_at        timestamptz, -- when it was tried last
    changed_at      timestamptz, -- when a callback last said that it has changed
    began_at        timestamptz, -- when a reading began that has not ended
    next_page       text collate "C", -- the provider's cursor, if that reading has stored pages
    primary key (organization_id, waba_id, kind)
);

-- The accounts about which a request must ask the provider, with a number whose token can: those whose report is outdated, unless
-- another request has tried within 30 seconds. A reading that has stored pages within the hour continues with next_page. An account of
-- which nothing is stored is always returned, without claimed_at if another request has tried within 30 seconds.
create function neoapi.whatsapp_claim_reports(organization text, wanted text)
    returns table (number_id text, phone_number_id text, access_token text, account text, claimed_at text, is_known boolean,
                   next_page text)
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    insert into neoapi.whatsapp_report (organization_id, waba_id, kind)
    select distinct organization, n.waba_id, wanted from neoapi.whatsapp_number n
    where n.organization_id = organization and not exists (
        select from neoapi.whatsapp_report r
        where r.organization_id = organization and r.waba_id = n.waba_id and r.kind = wanted)
    order by n.waba_id on conflict do nothing;
    return query
    with due as (
        select r.waba_id, coalesce(r.next_page is not null and r.began_at > now() - interval '1 hour', false) as continues
        from neoapi.whatsapp_report r
        where r.organization_id = organization and r.kind = wanted
          and (r.read_at is null or r.read_at < now() - interval '10 minutes' or r.read_at < r.changed_at)
          and (r.tried_at is null or r.tried_at < now() - interval '30 seconds' or coalesce(r.tried_at < r.changed_at, false))
          and exists (select from neoapi.whatsapp_number n where n.organization_id = organization and n.waba_id = r.waba_id)
        order by r.waba_id for update),
    claimed as (
        update neoapi.whatsapp_report r
        set tried_at = clock_timestamp(),
            began_at = case when d.continues then r.began_at else clock_timestamp() end,
            next_page = case when d.continues then r.next_page end
        from due d
        where r.organization_id = organization and r.waba_id = d.waba_id and r.kind = wanted
        returning r.waba_id, r.began_at, r.next_page)
    select n.id, n.phone_number_id, n.access_token, r.waba_id, c.began_at::text, r.read_at is not null or r.next_page is not null,
           c.next_page
    from neoapi.whatsapp_report r
    left join claimed c on c.waba_id = r.waba_id
    cross join lateral (
        select x.id, x.phone_number_id, x.access_token from neoapi.whatsapp_number x
        where x.organization_id = organization and x.waba_id = r.waba_id order by x.id limit 1) n
    where r.organization_id = organization and r.kind = wanted
      and (c.waba_id is not null or r.read_at is null and r.next_page is null)
    order by r.waba_id;
end $$;

-- ---------------------------------------------------------------- templates

-- The definition has the template's body and parameters (see include/whatsapp/template.h). It is null if the provider was asked for
-- the template and did not answer.
create table neoapi.whatsapp_template (
    organization_id text collate "C" not null references neoapi.organization (id),
    id              text collate "C" not null check (id like 'wat\_%' and octet_length(id) = 30),
    waba_id         text collate "C" not null,
    name            text collate "C" not null,
    language        text collate "C" not null,
    status          text collate "C" not null,
    category        text collate "C" not null,
    definition      json,
    read_at         timestamptz, -- when the provider reported it
    asked_at        timestamptz not null, -- when the provider was asked for it last
    is_outdated     boolean not null default false, -- a callback says that it has changed
    primary key (organization_id, id)
);
create unique index whatsapp_template_name_key on neoapi.whatsapp_template (organization_id, waba_id, name, language);

grant select on neoapi.whatsapp_template to :runtime;
grant select (created_at, verified_name, quality_rating, messaging_limit, reported_at) on neoapi.whatsapp_number to :runtime;

-- Stores templates (a JSON array) that the provider has returned, or, without a definition, that it was asked for one. `block` is a
-- reserved block of ids for new ones.
create function neoapi.whatsapp_store_templates(organization text, account text, templates json, block text) returns void
    language sql volatile security definer set search_path = pg_catalog, pg_temp
    as $$
        insert into neoapi.whatsapp_template as t (organization_id, id, waba_id, name, language, status, category, definition, read_at,
                                                asked_at)
        select distinct on (k.name, k.language) organization, neoapi.block_id(block, e.n), account, k.name, k.language,
               coalesce(k.status, 'unknown'), coalesce(k.category, 'unknown'), e.value->'definition',
               case when e.value->'definition' is not null then clock_timestamp() end, clock_timestamp()
        from json_array_elements(templates) with ordinality e (value, n)
        cross join lateral json_to_record(e.value) k (name text, language text, status text, category text)
        order by k.name, k.language
        on conflict (organization_id, waba_id, name, language) do update
        set status = case when excluded.definition is null then t.status else excluded.status end,
            category = case when excluded.definition is null then t.category else excluded.category end,
            definition = coalesce(excluded.definition, t.definition), read_at = coalesce(excluded.read_at, t.read_at),
            asked_at = excluded.asked_at, is_outdated = t.is_outdated and excluded.definition is null
    $$;

-- Records where a reading of the account's templates continues; null: from the beginning.
create function neoapi.whatsapp_pause_templates(organization text, account text, claimed timestamptz, page text) returns void
    language sql volatile security definer set search_path = pg_catalog, pg_temp
    as $$
        update neoapi.whatsapp_report r set next_page = page
        where r.organization_id = organization and r.waba_id = account and r.kind = 'templates' and r.began_at = claimed
    $$;

-- Records that all templates of the account have been read since `claimed`: the others do not exist any more.
create function neoapi.whatsapp_finish_templates(organization text, account text, claimed timestamptz) returns void
    language sql volatile security definer set search_path = pg_catalog, pg_temp
    as $$
        delete from neoapi.whatsapp_template t where t.organization_id = organization and t.waba_id = account
        and (t.read_at is null or t.read_at < claimed);
        update neoapi.whatsapp_report r set read_at = claimed, began_at = null, next_page = null
        where r.organization_id = organization and r.waba_id = account and r.kind = 'templates'
    $$;

-- What sending a template needs: the number that sends, the stored template, whether it is current, and how many seconds ago the
-- provider was asked for it. No row if whatsapp_start refuses the request anyway: there is no such lead or conversation, or no
-- single number.
create function neoapi.whatsapp_find_template(organization text, lead text, number text, target text, template text, template_language text)
    returns table (number_id text, access_token text, account text, definition text, is_current boolean, asked int)
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$
        select n.id, n.access_token, n.waba_id, t.definition::text,
               coalesce(t.definition is not null and not t.is_outdated and t.read_at > now() - interval '1 hour', false),
               extract(epoch from now() - t.asked_at)::int
        from (select x.id, x.access_token, x.waba_id, count(*) over () as count from neoapi.whatsapp_number x
              where x.organization_id = organization
                and case when target is null then coalesce(x.id = number, number is null)
                         else x.id = (select c.number_id from neoapi.whatsapp_conversation c
                                      where c.organization_id = organization and c.id = target) end) n
        left join neoapi.whatsapp_template t
            on t.organization_id = organization and t.waba_id = n.waba_id and t.name = template and t.language = template_language
        where n.count = 1 and (target is not null or exists (
            select from neoapi.lead l where l.organization_id = organization and l.id = lead))
    $$;

-- ---------------------------------------------------------------- numbers

-- Stores what the provider has returned about the numbers of an account (a JSON array).
create function neoapi.whatsapp_store_numbers(organization text, account text, numbers json, claimed timestamptz) returns void
    language sql volatile security definer set search_path = pg_catalog, pg_temp
    as $$
        select from neoapi.whatsapp_number n
        where n.organization_id = organization and n.waba_id = account order by n.id for no key update;
        update neoapi.whatsapp_number n
        set verified_name = k.verified_name, quality_rating = k.quality_rating, messaging_limit = k.messaging_limit, reported_at = claimed
        from json_to_recordset(numbers) k (phone_number_id text, verified_name text, quality_rating text, messaging_limit text)
        where n.organization_id = organization and n.waba_id = account and n.phone_number_id = k.phone_number_id;
        update neoapi.whatsapp_report r set read_at = claimed
        where r.organization_id = organization and r.waba_id = account and r.kind = 'numbers'
    $$;

-- ---------------------------------------------------------------- callbacks

-- Applies what callbacks say about the accounts of the given numbers (a JSON array of items with the account and `report`). A new
-- status of a template is stored; all else is read from the provider when it is asked for.
create function neoapi.whatsapp_apply_changes(callback_items json, numbers text[]) returns void
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    with item as materialized (
        select distinct n.organization_id, k.account, k.report, k.template_name, k.template_language, k.template_status, k.n
        from json_to_recordset(callback_items) k (n int, account text, report text, template_name text, template_language text,
                                                  template_status text)
        join neoapi.whatsapp_number n on n.waba_id = k.account and n.id = any (numbers)
        where k.report is not null),
    template as (
        update neoapi.whatsapp_template t
        set status = coalesce(i.template_status, t.status), is_outdated = i.is_outdated or t.is_outdated,
            asked_at = case when i.is_outdated then t.asked_at - interval '1 day' else t.asked_at end
        from (select organization_id, account, template_name, template_language, bool_or(template_status is null) as is_outdated,
                     (array_agg(template_status order by n desc) filter (where template_status is not null))[1] as template_status
              from item group by 1, 2, 3, 4) i
        where t.organization_id = i.organization_id and t.waba_id = i.account and t.name = i.template_name
          and t.language = i.template_language)
    insert into neoapi.whatsapp_report as r (organization_id, waba_id, kind, changed_at)
    select i.organization_id, i.account, i.report, clock_timestamp() from item i
    group by i.organization_id, i.account, i.report order by i.organization_id, i.account, i.report
    on conflict (organization_id, waba_id, kind) do update set changed_at = excluded.changed_at;
end $$;

revoke execute on function
    neoapi.whatsapp_claim_reports, neoapi.whatsapp_store_templates, neoapi.whatsapp_pause_templates, neoapi.whatsapp_finish_templates,
    neoapi.whatsapp_find_template, neoapi.whatsapp_store_numbers, neoapi.whatsapp_apply_changes from public;
grant execute on function
    neoapi.whatsapp_claim_reports, neoapi.whatsapp_store_templates, neoapi.whatsapp_pause_templates, neoapi.whatsapp_finish_templates,
    neoapi.whatsapp_find_template, neoapi.whatsapp_store_numbers, neoapi.whatsapp_apply_changes to :runtime;
