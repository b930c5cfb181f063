-- SPDX-License-Identifier: Apache-2.0
-- Statements of the audit log (see audit.c).

-- The condition comes first, so that the entry has the credential.
-- write: add
select neoapi.audit_add({action}, {tenant}, {organization}, {type}, {id}, {details}::json)
where neoapi.audit_by({credential}, {actor}, {request}, {address});

-- write: expire
select neoapi.audit_expire({most}::int);
