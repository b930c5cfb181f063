-- SPDX-License-Identifier: Apache-2.0
-- Reads the audit log (see audit.c).

-- name: head
select number, encode(hash, 'hex'), removed_number, encode(removed_hash, 'hex') from neoapi.audit_head;

-- $1 number.
-- name: read
select entry::text, encode(hash, 'hex'), number from neoapi.audit_entry where number > $1::bigint order by number limit 1000;
