-- SPDX-License-Identifier: Apache-2.0
-- The data of a person (see subject.c).

-- read: find_subject
select neoapi.find_subject({organization}, {person}::json);

-- read: preview_erasure
select neoapi.erasure_preview({organization}, {person}::json);

-- An entry of the audit log is of the credential, or else of neoapictl.
-- write: begin_erasure
select neoapi.begin_erasure({organization}, {tenant}, {id}, {person}::json, {actor}, {request})
where {address}::text is null or neoapi.audit_by({credential}, {actor}, {request}, {address});

-- write: step_erasure
select s.phase from neoapi.erasure_step({organization}, {id}, {personal}::json) s;

-- read: read_erasure
select neoapi.erasure_json({organization}, {id});

-- read: export_subject
select neoapi.export_subject({organization}, {person}::json);

-- write: run_retention
select neoapi.run_retention({personal}::json);
