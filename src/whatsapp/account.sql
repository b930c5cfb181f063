-- SPDX-License-Identifier: Apache-2.0
-- What the provider reports about an organization's account (see account.c).

-- read: usage
select '{"items":[' || coalesce(string_agg(format('{"month":"%s","number_id":"%s","category":%s,"messages":%s,"billable":%s}',
                                                  to_char(u.month, 'YYYY-MM'), u.number_id, to_json(u.category), u.messages, u.billable),
                                           ',' order by u.month desc, u.number_id, u.category), '') || ']}'
from neoapi.whatsapp_usage u
where u.organization_id = {organization} and u.messages > 0
and u.month >= coalesce(to_date({from}, 'YYYY-MM'), '-infinity') and u.month <= coalesce(to_date({to}, 'YYYY-MM'), 'infinity');

-- write: claim
select number_id, phone_number_id, access_token, account, claimed_at, is_known, next_page
from neoapi.whatsapp_claim_reports({organization}, {kind});

-- write: store_templates
select neoapi.whatsapp_store_templates({organization}, {account}, {templates}, {block});

-- write: pause_templates
select neoapi.whatsapp_pause_templates({organization}, {account}, {claimed}, {next_page});

-- write: finish_templates
select neoapi.whatsapp_finish_templates({organization}, {account}, {claimed});

-- write: store_numbers
select neoapi.whatsapp_store_numbers({organization}, {account}, {numbers}, {claimed});

-- read: find_template
select number_id, access_token, account, definition, is_current, asked
from neoapi.whatsapp_find_template({organization}, {lead}, {number}, {target}, {template}, {language});

-- read: numbers
select '{"items":[' || coalesce(string_agg('{' || concat_ws(',',
           '"id":"' || n.id || '"', '"phone_number_id":"' || n.phone_number_id || '"', '"account_id":"' || n.waba_id || '"',
           '"display_phone_number":' || to_json(n.display_phone_number), '"verified_name":' || to_json(n.verified_name),
           '"quality_rating":' || to_json(n.quality_rating), '"messaging_limit":' || to_json(n.messaging_limit),
           '"reported_at":"' || neoapi.format_timestamp(n.reported_at) || '"') || '}', ',' order by n.id desc), '') || ']}'
from neoapi.whatsapp_number n
where n.organization_id = {organization};

-- write: apply_changes
select neoapi.whatsapp_apply_changes({items}, {numbers});
