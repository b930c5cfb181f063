-- SPDX-License-Identifier: Apache-2.0
-- Idempotency keys (see idempotency.c).

-- read: lookup
select request_hash = decode({hash}, 'hex'), expires_at <= now(), status, response_body, secret
from neoapi.idempotency_key
where organization_id = {organization} and credential_id = {credential} and key = {key}::uuid;

-- write: remove_old
delete from neoapi.idempotency_key
where organization_id = {organization} and credential_id = {credential} and key = {key}::uuid and expires_at <= now();

-- write: reserve
insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, expires_at)
values ({organization}, {credential}, {key}::uuid, decode({hash}, 'hex'), 200, '', now() + interval '24 hours')
on conflict do nothing returning 1;

-- write: store
update neoapi.idempotency_key set response_body = {answer}
where organization_id = {organization} and credential_id = {credential} and key = {key}::uuid;
