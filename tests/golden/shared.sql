-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

prepare shared_1 as
select c.*, coalesce(p.requests, 0), coalesce(p.window_seconds, 0), coalesce(p.subscriptions, 0), coalesce(p.concurrent_requests, 0),
    coalesce(p.idempotency_bytes, 0), coalesce(p.deliveries_per_hour, 0)
from (
    select encode(s.secret_hash, 'base64'), c.revoked_at is not null, c.tenant_id, coalesce(c.role, u.role), array_to_string(c.scopes, ' '),
        c.user_id, u.email, coalesce(c.organization_id, (
        select string_agg(o.organization_id, ' ' order by o.position)
        from neoapi.token_organization o
        where o.credential_id = c.id),
    ''), encode(s.previous_secret_hash, 'base64'), (extract(epoch from c.previous_secret_until) * 1000)::bigint, t.plan
    from neoapi.credential c
    cross join lateral neoapi.secret_hashes(c.id) s
    join neoapi.tenant t on t.id = c.tenant_id
    left join neoapi.app_user u on u.id = c.user_id
    where c.id = $1) c
join neoapi.plan p on p.name = c.plan;

-- $1 hash, $2 organization, $3 credential, $4 key
prepare shared_2 as
select request_hash = decode($1, 'hex'), expires_at <= now(), status, response_body, secret
from neoapi.idempotency_key
where organization_id = $2 and credential_id = $3 and key = $4::uuid;

-- $1 organization, $2 credential, $3 key
prepare shared_3 as
delete from neoapi.idempotency_key
where organization_id = $1 and credential_id = $2 and key = $3::uuid and expires_at <= now();

-- $1 organization, $2 credential, $3 key, $4 hash
prepare shared_4 as
insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, expires_at)
values ($1, $2, $3::uuid, decode($4, 'hex'), 200, '', now() + interval '24 hours')
on conflict do nothing
returning 1;

-- $1 answer, $2 organization, $3 credential, $4 key
prepare shared_5 as
update neoapi.idempotency_key
set response_body = $1
where organization_id = $2 and credential_id = $3 and key = $4::uuid;

-- $1 organization, $2 numbers, $3 paths, $4 targets
prepare shared_6 as
select number, id
from (
    select w.number, case w.kind when 'broker' then (
        select t.id
        from neoapi.broker t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'property' then (
        select t.id
        from neoapi.property t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'party' then (
        select t.id
        from neoapi.party t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'proposal' then (
        select t.id
        from neoapi.proposal t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'contract' then (
        select t.id
        from neoapi.contract t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'document' then (
        select t.id
        from neoapi.document t
        where t.organization_id = $1 and t.external_id = w.external_id) end as id
    from unnest($2::int[], $3::text[], $4::text[]) as w (number, kind, external_id)) as found
where id is not null;

prepare shared_7 as
select (now() at time zone 'America/Sao_Paulo')::date, r0.representation, r0.xmin, r1.representation, r1.xmin, row_to_json(r2), null,
    row_to_json(r3), null, row_to_json(r4), null
from (values (1)) one
left join neoapi.property r0 on r0.organization_id = $1 and r0.id = $3
left join neoapi.proposal r1 on r1.organization_id = $1 and r1.id = $4
left join lateral (
    select c.id, c.kind
    from neoapi.contract c
    where c.organization_id = $1 and c.property_id = $3 and c.status = 'active' and c.kind in ('sale', 'rental') and c.id <> $2
    order by c.id
    limit 1) r2 on true
left join lateral (
    select c.id
    from neoapi.contract c
    where c.organization_id = $1 and c.property_id = $3 and c.proposal_id = $4 and c.id <> $2
    limit 1) r3 on true
left join lateral (
    select o.id, o.kind, d.open_id as contract_id
    from neoapi.proposal o
    cross join lateral (
        select count(*) as contracts, min(c.id) filter (where c.status in ('draft', 'pending_signature', 'active') and c.id <> $2) as open_id
        from neoapi.contract c
        where c.organization_id = $1 and c.property_id = $3 and c.proposal_id = o.id) d
    where o.organization_id = $1 and o.property_id = $3 and o.status = 'accepted' and o.id <> $2 and (d.contracts = 0
        or d.open_id is not null)
    order by o.id is not distinct from $4, o.id
    limit 1) r4 on true;

-- $1 now, $2 actor, $3 request, $4 organization, $5 subscription, $6 id_block
prepare shared_8 as
with key_is_free as (select), source as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select t.organization_id, 'webhook.test', t.id, neoapi.event_time($1::timestamptz), $2, $3,
        json_strip_nulls(json_build_object('subscription_id', t.id))::text
    from neoapi.webhook_subscription t, key_is_free
    where t.organization_id = $4 and t.id = $5
    returning id, type, created_at),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select $4, neoapi.block_id($6, row_number() over ()), $5, s.id, s.type, s.created_at, $1::timestamptz
    from source s, key_is_free
    returning *),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)
    select id, organization_id, subscription_id, now()
    from queued_deliveries),
answer as materialized (
    select json_strip_nulls(json_build_object( 'id', id, 'subscription_id', subscription_id, 'event_id', event_id, 'event_type', event_type,
        'status', 'pending', 'attempt_count', 0, 'created_at', neoapi.format_timestamp(created_at)))::text as answer
    from queued_deliveries)
select answer, 1
from answer;

-- $1 organization, $2 credential, $3 key, $4 now, $5 actor, $6 request, $7 subscription, $8 id_block, $9 hash
prepare shared_9 as
with key_is_free as (
    select
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $1 and credential_id = $2 and key = $3::uuid) is null),
source as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select t.organization_id, 'webhook.test', t.id, neoapi.event_time($4::timestamptz), $5, $6,
        json_strip_nulls(json_build_object('subscription_id', t.id))::text
    from neoapi.webhook_subscription t, key_is_free
    where t.organization_id = $1 and t.id = $7
    returning id, type, created_at),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select $1, neoapi.block_id($8, row_number() over ()), $7, s.id, s.type, s.created_at, $4::timestamptz
    from source s, key_is_free
    returning *),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)
    select id, organization_id, subscription_id, now()
    from queued_deliveries),
answer as materialized (
    select json_strip_nulls(json_build_object( 'id', id, 'subscription_id', subscription_id, 'event_id', event_id, 'event_type', event_type,
        'status', 'pending', 'attempt_count', 0, 'created_at', neoapi.format_timestamp(created_at)))::text as answer
    from queued_deliveries),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $1, $2, $3::uuid, decode($9, 'hex'), 201, answer, null, now() + interval '24 hours'
    from answer)
select answer, 1
from answer;

-- $1 organization, $2 subscription, $3 id, $4 id_block, $5 now
prepare shared_10 as
with key_is_free as (select), source as (
    select t.event_id as id, t.event_type as type, t.event_at as created_at
    from neoapi.webhook_delivery t, lateral (
        select
        from neoapi.event e
        where e.organization_id = t.organization_id and e.id = t.event_id and e.created_at = t.event_at) e
    where t.organization_id = $1 and t.subscription_id = $2 and t.id = $3),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select $1, neoapi.block_id($4, row_number() over ()), $2, s.id, s.type, s.created_at, $5::timestamptz
    from source s, key_is_free
    returning *),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)
    select id, organization_id, subscription_id, now()
    from queued_deliveries),
answer as materialized (
    select json_strip_nulls(json_build_object( 'id', id, 'subscription_id', subscription_id, 'event_id', event_id, 'event_type', event_type,
        'status', 'pending', 'attempt_count', 0, 'created_at', neoapi.format_timestamp(created_at)))::text as answer
    from queued_deliveries)
select answer, 1
from answer;

-- $1 organization, $2 credential, $3 key, $4 subscription, $5 id, $6 id_block, $7 now, $8 hash
prepare shared_11 as
with key_is_free as (
    select
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $1 and credential_id = $2 and key = $3::uuid) is null),
source as (
    select t.event_id as id, t.event_type as type, t.event_at as created_at
    from neoapi.webhook_delivery t, lateral (
        select
        from neoapi.event e
        where e.organization_id = t.organization_id and e.id = t.event_id and e.created_at = t.event_at) e
    where t.organization_id = $1 and t.subscription_id = $4 and t.id = $5),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select $1, neoapi.block_id($6, row_number() over ()), $4, s.id, s.type, s.created_at, $7::timestamptz
    from source s, key_is_free
    returning *),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)
    select id, organization_id, subscription_id, now()
    from queued_deliveries),
answer as materialized (
    select json_strip_nulls(json_build_object( 'id', id, 'subscription_id', subscription_id, 'event_id', event_id, 'event_type', event_type,
        'status', 'pending', 'attempt_count', 0, 'created_at', neoapi.format_timestamp(created_at)))::text as answer
    from queued_deliveries),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $1, $2, $3::uuid, decode($8, 'hex'), 201, answer, null, now() + interval '24 hours'
    from answer)
select answer, 1
from answer;

-- $1 organization, $2 subscription, $3 body, $4 any_type, $5 id_block, $6 now
prepare shared_12 as
with key_is_free as (select), answer as materialized (
    select json_strip_nulls(json_build_object('recovered', r.recovered, 'is_complete', r.position is null, 'position',
        r.position))::text as answer, r.recovered
    from key_is_free, neoapi.webhook_recover($1, $2, $3::json, $4::text[], $5, $6::timestamptz) r)
select answer, recovered
from answer;

-- $1 organization, $2 credential, $3 key, $4 subscription, $5 body, $6 any_type, $7 id_block, $8 now, $9 hash
prepare shared_13 as
with key_is_free as (
    select
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $1 and credential_id = $2 and key = $3::uuid) is null),
answer as materialized (
    select json_strip_nulls(json_build_object('recovered', r.recovered, 'is_complete', r.position is null, 'position',
        r.position))::text as answer, r.recovered
    from key_is_free, neoapi.webhook_recover($1, $4, $5::json, $6::text[], $7, $8::timestamptz) r),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $1, $2, $3::uuid, decode($9, 'hex'), 200, answer, null, now() + interval '24 hours'
    from answer)
select answer, recovered
from answer;

prepare shared_14 as
select refusal, deliveries, created, number_id, phone_number_id, access_token, wa_id, bsuid, account, has_template, template_text
from neoapi.whatsapp_start($1, $2, $3, decode($4, 'hex'), $5, $6, $7, $8, $9, $10, $11, $12);

prepare shared_15 as
select neoapi.whatsapp_finish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

prepare shared_16 as
select neoapi.whatsapp_store_template($1, $2, $3, $4, $5);

prepare shared_17 as
select neoapi.whatsapp_response($1, $2);

prepare shared_18 as
select neoapi.whatsapp_conversation_json(t), t.xmin
from neoapi.whatsapp_conversation t
where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null) and t.id = $2;

prepare shared_19 as
select body, deliveries, refusal
from neoapi.whatsapp_change($1, $2, $3, $4, $5, $6);

prepare shared_20 as
select id, phone_number_id, app_secret
from neoapi.whatsapp_number
where phone_number_id = any ($1) or waba_id = any ($1)
limit 1000;

prepare shared_21 as
select id, phone_number_id, app_secret
from neoapi.whatsapp_number
order by id desc
limit 16;

prepare shared_22 as
select true
from neoapi.whatsapp_number
where verify_token_hash = decode($1, 'hex')
limit 1;

prepare shared_23 as
select message_count, delivery_count, status_count
from neoapi.whatsapp_receive($1, $2, $3, $4);

prepare shared_24 as
(
    select 'proposal', due.organization_id, due.tenant_id, due.id, due.xmin, due.representation, 'expired'
    from neoapi.proposal due
    where due.status in ('submitted', 'countered') and due.valid_until < (now() at time zone 'America/Sao_Paulo')::date
    order by due.valid_until
    limit 25)
union all
(
    select 'contract', due.organization_id, due.tenant_id, due.id, due.xmin, due.representation, 'expired'
    from neoapi.contract due
    where due.status in ('active') and due.end_date < (now() at time zone 'America/Sao_Paulo')::date
    order by due.end_date
    limit 25);
