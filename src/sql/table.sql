-- SPDX-License-Identifier: Apache-2.0
-- Takes one of two places of the organization ($1) and one of three of its tenant ($2), which its transaction holds (see table.c); and
-- the position of its snapshot in the event log. `exists` stops at the first place that is free. Equal hash values of two organizations
-- or tenants are too rare to matter.
-- name: begin_snapshot
select exists (
        select from generate_series(1, 2) place
        where pg_try_advisory_xact_lock(hashtext('neoapi.snapshot.' || place), hashtext($1))),
    exists (
        select from generate_series(1, 3) place
        where pg_try_advisory_xact_lock(hashtext('neoapi.snapshot.' || place), hashtext($2))),
    neoapi.event_position();
