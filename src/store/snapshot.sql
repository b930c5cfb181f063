-- SPDX-License-Identifier: Apache-2.0
-- Takes one of the organization's two places (see snapshot.c), which its transaction holds; and the position of its snapshot in the
-- event log. Hash values of two organizations are equal too rarely to matter.
-- name: begin_snapshot
select case when pg_try_advisory_xact_lock(hashtext('neoapi.snapshot.1'), hashtext($1)) then true
            else pg_try_advisory_xact_lock(hashtext('neoapi.snapshot.2'), hashtext($1)) end,
       neoapi.event_position();
