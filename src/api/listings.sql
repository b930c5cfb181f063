-- SPDX-License-Identifier: Apache-2.0
-- Statements of a feed of listings (see listings.c).

-- read: find_feed
select tenant_id, organization_id, contact_name, contact_email, contact_phone, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
from neoapi.find_listing_feed({id}, decode({hash}, 'hex'));

-- Takes the feed's place ($1), which the transaction holds. Reads what changes if an active property of the organization ($2) does, also
-- if it is deleted or is no longer active; and when they were last changed.
-- name: read_state
select pg_try_advisory_xact_lock(hashtext('neoapi.listing_feed'), hashtext($1)),
    concat_ws(' ', count(*), bit_xor(hash_record_extended(row(t.id, t.updated_at), 0))),
    to_char(max(t.updated_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
from neoapi.property t
where t.organization_id = $2 and t.status = 'active';
