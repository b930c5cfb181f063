-- SPDX-License-Identifier: Apache-2.0
-- Deliveries that the API makes and shows (see delivery.c).

-- A delivery of the event of {delivery}, or if that is null, of a new event webhook.test.
-- write: make
with key_is_free as (
    select where {key}::uuid is null or (
        select 1 from neoapi.idempotency_key
        where organization_id = {organization} and credential_id = {credential} and key = {key}::uuid) is null),
test as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select t.organization_id, 'webhook.test', t.id, neoapi.event_time({now}::timestamptz), {actor}, {request},
        json_strip_nulls(json_build_object('subscription_id', t.id))::text
    from neoapi.webhook_subscription t, key_is_free
    where {delivery}::text is null and t.organization_id = {organization} and t.id = {subscription}
    returning id, type, created_at, resource_id),
source as (
    select id, type, created_at, resource_id, null as payload from test
    union all
    select t.event_id, t.event_type, t.event_at, e.resource_id, e.payload
    from neoapi.webhook_delivery t, lateral (
        select e.resource_id, e.payload from neoapi.event e
        where e.organization_id = t.organization_id and e.id = t.event_id and e.created_at = t.event_at) e
    where t.organization_id = {organization} and t.subscription_id = {subscription} and t.id = {delivery}),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select {organization}, neoapi.block_id({id_block}, 1), {subscription}, s.id, s.type, s.created_at, {now}::timestamptz
    from source s, key_is_free
    returning *),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select d.id, d.organization_id, d.subscription_id, now(), o.resource_id, o.changed_at
    from queued_deliveries d left join (
        select s.resource_id, neoapi.webhook_changed_at(s.payload, s.created_at) as changed_at
        from source s
        join neoapi.webhook_subscription w on w.organization_id = {organization} and w.id = {subscription}
        where w.ordering = 'resource' and s.resource_id <> w.id) o on true),
answer as materialized (
    select json_strip_nulls(json_build_object(
        'id', id,
        'subscription_id', subscription_id,
        'event_id', event_id,
        'event_type', event_type,
        'resource_id', (select s.resource_id from source s),
        'status', 'pending',
        'attempt_count', 0,
        'created_at', neoapi.format_timestamp(created_at)))::text as answer
    from queued_deliveries),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, expires_at)
    select {organization}, {credential}, {key}::uuid, decode({hash}, 'hex'), 201, answer, now() + interval '24 hours'
    from answer where {key}::uuid is not null)
select answer, 1 from answer;

-- write: recover
with key_is_free as (
    select where {key}::uuid is null or (
        select 1 from neoapi.idempotency_key
        where organization_id = {organization} and credential_id = {credential} and key = {key}::uuid) is null),
answer as materialized (
    select json_strip_nulls(json_build_object(
        'recovered', r.recovered, 'is_complete', r.position is null, 'position', r.position))::text as answer, r.recovered
    from key_is_free, neoapi.webhook_recover({organization}, {subscription}, {body}::json, {any_type}::text[], {paths}::jsonb, {id_block},
                                             {now}::timestamptz) r),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, expires_at)
    select {organization}, {credential}, {key}::uuid, decode({hash}, 'hex'), 200, answer, now() + interval '24 hours'
    from answer where {key}::uuid is not null)
select answer, recovered from answer;

-- Also whether the payload is sent masked.
-- read: read
select neoapi.webhook_delivery_detail(t), (
    select s.is_masked from neoapi.webhook_subscription s where s.organization_id = t.organization_id and s.id = t.subscription_id)
from neoapi.webhook_delivery t
where t.organization_id = {organization} and t.subscription_id = {subscription} and t.id = {id};

-- The previous secret is valid for one more day.
-- write: rotate
update neoapi.webhook_subscription t
set previous_secret = secret, secret = {secret}, previous_secret_until = now() + interval '24 hours',
    updated_at = greatest({now}::timestamptz, updated_at + interval '1 millisecond'), updated_by = {actor}
where t.organization_id = {organization} and t.id = {subscription}
and (select neoapi.audit_by({credential}, {actor}, {request}, {address}))
returning representation;

-- The previous key is valid for {hours} more, together with the new one. Without one, there is no previous one.
-- write: rotate_key
with key_is_free as (
    select where {key}::uuid is null or (
        select 1 from neoapi.idempotency_key
        where organization_id = {organization} and credential_id = {credential} and key = {key}::uuid) is null),
rotated as (
    update neoapi.webhook_subscription t
    set previous_private_key = case when {hours}::int > 0 then private_key end,
        previous_public_key = case when {hours}::int > 0 then public_key end,
        previous_public_key_until = case when {hours}::int > 0 and public_key is not null
            then date_trunc('milliseconds', now()) + make_interval(hours => {hours}::int) end,
        private_key = {private_key}, public_key = {public_key},
        updated_at = greatest({now}::timestamptz, updated_at + interval '1 millisecond'), updated_by = {actor}
    where t.organization_id = {organization} and t.id = {subscription} and exists (select from key_is_free)
    and (select neoapi.audit_by({credential}, {actor}, {request}, {address}))
    returning representation),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, expires_at)
    select {organization}, {credential}, {key}::uuid, decode({hash}, 'hex'), 200, representation, now() + interval '24 hours'
    from rotated where {key}::uuid is not null)
select representation, 0 from rotated;

-- The keys in use of an organization's subscriptions, as a JWK Set (RFC 7517, RFC 8037). The id of a key is its thumbprint (RFC 7638),
-- which says nothing of the subscription.
-- read: public_keys
select '{"keys":[' || coalesce(string_agg(concat('{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"', k.kid, '","x":"', k.x, '"}'),
                                          ',' order by k.kid), '') || ']}'
from neoapi.webhook_subscription t,
lateral (values (t.public_key), (case when t.previous_public_key_until > now() then t.previous_public_key end)) as p (key),
lateral (select translate(substr(p.key, 6), '+/=', '-_') as x) x,
lateral (
    select x.x, translate(encode(sha256(convert_to('{"crv":"Ed25519","kty":"OKP","x":"' || x.x || '"}', 'UTF8')), 'base64'),
                          '+/=', '-_') as kid) k
where t.organization_id = {organization} and t.asymmetric_signature is not null and p.key is not null;
