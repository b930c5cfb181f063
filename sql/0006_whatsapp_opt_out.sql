-- SPDX-License-Identifier: Apache-2.0
-- Creates the table of WhatsApp's opt-outs, which is kept in agreement with the conversations.

-- Contacts that have sent stop, and to which number. A conversation stores this for its contact; this table also holds for
-- contacts without a conversation, after an import. If the organization does not have the number, the opt-out counts for all
-- its numbers: a number that got a new id must not be a way to write to the contact again.
create table neoapi.whatsapp_opt_out (
    organization_id text collate "C" not null references neoapi.organization (id),
    id              text collate "C" not null check (id like 'wao\_%' and octet_length(id) = 30),
    phone_number_id text collate "C" check (phone_number_id ~ '^[0-9]{5,20}$'), -- null: all numbers
    contact_phone   text collate "C", -- the contact's wa_id
    contact_bsuid   text collate "C",
    lead_id         text collate "C", -- the contact's number can differ from the lead's
    opted_out_at    timestamptz not null,
    preference_at   timestamptz, -- when stop was last repeated
    representation  text not null, -- as neoapictl exports it
    primary key (organization_id, id),
    foreign key (organization_id, lead_id) references neoapi.lead (organization_id, id) on delete set null (lead_id),
    check (contact_phone is not null or contact_bsuid is not null)
);
create index whatsapp_opt_out_phone on neoapi.whatsapp_opt_out (organization_id, neoapi.whatsapp_phone_key(contact_phone));
create index whatsapp_opt_out_bsuid on neoapi.whatsapp_opt_out (organization_id, contact_bsuid);
create index whatsapp_opt_out_lead on neoapi.whatsapp_opt_out (organization_id, lead_id);

-- Whether the opt-out is of the conversation's contact.
create function neoapi.whatsapp_opt_out_matches(o neoapi.whatsapp_opt_out, c neoapi.whatsapp_conversation) returns boolean
    language sql immutable parallel safe
    return neoapi.whatsapp_phone_key((o).contact_phone) = neoapi.whatsapp_phone_key((c).contact_wa_id)
        or (o).contact_bsuid = (c).contact_bsuid or (o).lead_id = (c).lead_id;

-- The latest opt-out that counts for a conversation and is not its own, or null.
create function neoapi.whatsapp_latest_opt_out(c neoapi.whatsapp_conversation) returns neoapi.whatsapp_opt_out
    language sql stable
    as $$
        select o from neoapi.whatsapp_opt_out o
        where o.organization_id = c.organization_id and neoapi.whatsapp_opt_out_matches(o, c)
          and o.id <> 'wao_' || right(c.id, 26)
          and not exists (
              select from neoapi.whatsapp_number n
              where n.organization_id = c.organization_id and n.phone_number_id = o.phone_number_id and n.id <> c.number_id)
        order by greatest(o.preference_at, o.opted_out_at) desc limit 1
    $$;

-- Replaces the contact's older opt-outs by the conversation's own. A resume deletes them. Opt-outs of other conversations with the
-- same lead remain. An opt-out outlives its conversation.
create function neoapi.whatsapp_sync_opt_out() returns trigger language plpgsql as $$
declare
    c neoapi.whatsapp_conversation := new;
    number text := (select n.phone_number_id from neoapi.whatsapp_number n
                    where n.organization_id = new.organization_id and n.id = new.number_id);
begin
    if tg_op = 'UPDATE' then
        c := old;
    end if;
    delete from neoapi.whatsapp_opt_out o
    where o.organization_id = c.organization_id and o.phone_number_id = number and neoapi.whatsapp_opt_out_matches(o, c)
      and greatest(o.preference_at, o.opted_out_at) <= greatest(new.preference_at, new.opted_out_at, c.preference_at, c.opted_out_at)
      and not exists (
          select from neoapi.whatsapp_conversation x
          where x.organization_id = c.organization_id and x.id = 'wac_' || right(o.id, 26) and x.id <> c.id
            and x.opted_out_at is not null);
    if new.opted_out_at is not null then
        insert into neoapi.whatsapp_opt_out
            (organization_id, id, phone_number_id, contact_phone, contact_bsuid, lead_id, opted_out_at, preference_at)
        select new.organization_id, 'wao_' || right(new.id, 26), number, new.contact_wa_id, new.contact_bsuid, new.lead_id,
               new.opted_out_at, nullif(new.preference_at, new.opted_out_at)
        where new.contact_wa_id is not null or new.contact_bsuid is not null
        on conflict do nothing; -- a later one exists
    end if;
    return null;
end $$;
create trigger sync_opt_out_on_insert after insert on neoapi.whatsapp_conversation
    for each row when (new.opted_out_at is not null) execute function neoapi.whatsapp_sync_opt_out();
create trigger sync_opt_out_on_update after update on neoapi.whatsapp_conversation for each row
    when ((old.opted_out_at, old.preference_at, old.contact_wa_id, old.contact_bsuid, old.lead_id)
          is distinct from (new.opted_out_at, new.preference_at, new.contact_wa_id, new.contact_bsuid, new.lead_id)
          and (old.opted_out_at is not null or new.opted_out_at is not null
               or old.preference_at is distinct from new.preference_at)) -- a resume after an imported opt-out
    execute function neoapi.whatsapp_sync_opt_out();

-- Ignores an imported opt-out if a conversation has the same preference or a later one: the contact may have sent resume since.
-- Each of the contact's ids is a query of its own, because PostgreSQL then uses its index whatever the table's statistics are.
create function neoapi.whatsapp_ignore_outdated_opt_out() returns trigger language plpgsql as $$
declare
    number text := (select n.id from neoapi.whatsapp_number n
                    where n.organization_id = new.organization_id and n.phone_number_id = new.phone_number_id);
    latest timestamptz := greatest(
        (select max(c.preference_at) from neoapi.whatsapp_conversation c
         where c.organization_id = new.organization_id and c.number_id = number
           and neoapi.whatsapp_phone_key(c.contact_wa_id) = neoapi.whatsapp_phone_key(new.contact_phone)),
        (select max(c.preference_at) from neoapi.whatsapp_conversation c
         where c.organization_id = new.organization_id and c.number_id = number and c.contact_bsuid = new.contact_bsuid),
        (select max(c.preference_at) from neoapi.whatsapp_conversation c
         where c.organization_id = new.organization_id and c.number_id = number and c.lead_id = new.lead_id));
begin
    return case when latest >= greatest(new.preference_at, new.opted_out_at) then null else new end;
end $$;
-- pg_trigger_depth() is 0 for an import; whatsapp_sync_opt_out inserts at depth 1.
create trigger ignore_outdated_opt_out before insert on neoapi.whatsapp_opt_out
    for each row when (pg_trigger_depth() = 0) execute function neoapi.whatsapp_ignore_outdated_opt_out();
