-- SPDX-License-Identifier: Apache-2.0
-- Reads a credential and its plan (see credential.c).
-- read: read
select encode(s.secret_hash, 'base64'),
    c.revoked_at is not null,
    c.tenant_id,
    coalesce(c.role, u.role),
    array_to_string(c.scopes, ' '),
    c.user_id,
    u.email,
    coalesce(c.organization_id,
        (select string_agg(o.organization_id, ' ' order by o.position)
         from neoapi.token_organization o where o.credential_id = c.id), ''),
    encode(s.previous_secret_hash, 'base64'),
    (extract(epoch from c.previous_secret_until) * 1000)::bigint,
    to_json(p),
    (extract(epoch from c.expires_at) * 1000)::bigint,
    array_to_string(c.allowed_networks, ' ')
from neoapi.credential c
cross join lateral neoapi.secret_hashes(c.id) s
join neoapi.tenant t on t.id = c.tenant_id
join neoapi.plan p on p.name = t.plan
left join neoapi.app_user u on u.id = c.user_id
where c.id = {id};
