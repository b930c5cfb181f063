-- SPDX-License-Identifier: Apache-2.0
-- Leads of portals (see portal.c).

-- read: find
select id, organization_id, tenant_id, portal, encode(secret_hash, 'hex') from neoapi.lead_portal where id = {id};

-- write: reject
insert into neoapi.lead_rejected (organization_id, id, portal_id, body_hash, body, reason)
values ({organization}, {id}, {portal}, decode({hash}, 'hex'), {body}, {reason})
on conflict (organization_id, portal_id, body_hash) do update
set times = neoapi.lead_rejected.times + 1, last_received_at = now(), reason = excluded.reason;

-- write: receive
select body, deliveries, refusal
from neoapi.portal_receive({organization}, {tenant}, {portal}, {id}, {now}::timestamptz, {listing}, {contact}::json,
                           decode({hash}, 'hex'), {request});

-- read: find_rejected
select p.id, p.organization_id, p.tenant_id, p.portal, encode(p.secret_hash, 'hex'), r.body
from neoapi.lead_rejected r join neoapi.lead_portal p on p.organization_id = r.organization_id and p.id = r.portal_id
where r.id = {id};
