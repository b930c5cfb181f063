-- Until this ends nobody changes a conversation, so that no stop falls between those that are gathered and those that are kept.
lock table neoapi.whatsapp_conversation in share row exclusive mode;

-- Who has said stop, and to which number. A conversation knows that of its contact; here it stands for itself, so that it holds also where
-- there is no conversation as yet, because the organization has come from elsewhere. What was said to a number that the organization does
-- not have counts for all that it has: nobody is written to again because a number was given another id.
create table neoapi.whatsapp_opt_out (
    organization_id text collate "C" not null references neoapi.organization (id),
    id              text collate "C" not null check (id ~ '^wao_[0-9a-hjkmnp-tv-z]{26}$'),
    phone_number_id text collate "C" check (phone_number_id ~ '^[0-9]{5,20}$'), -- null: said to all
    contact_phone   text collate "C", -- whatever WhatsApp calls it
    contact_bsuid   text collate "C",
    lead_id         text collate "C", -- the contact may have moved to another number than its lead's
    opted_out_at    timestamptz not null,
    preference_at   timestamptz, -- when that was last said, if it was said again
    representation  text not null,
    primary key (organization_id, id),
    foreign key (organization_id, lead_id) references neoapi.lead (organization_id, id) on delete set null (lead_id),
    check (contact_phone is not null or contact_bsuid is not null)
);
create index whatsapp_opt_out_phone on neoapi.whatsapp_opt_out (organization_id, neoapi.whatsapp_folded(contact_phone));
create index whatsapp_opt_out_bsuid on neoapi.whatsapp_opt_out (organization_id, contact_bsuid);
create index whatsapp_opt_out_lead on neoapi.whatsapp_opt_out (organization_id, lead_id);

-- The fields and their order are those of src/model/opt_out.c.
create function neoapi.whatsapp_opt_out_represent() returns trigger language plpgsql as $$
begin
    new.representation := json_strip_nulls(row_to_json(r)) from (select
        new.id,
        new.phone_number_id,
        '+' || new.contact_phone as contact_phone,
        new.contact_bsuid,
        new.lead_id,
        neoapi.instant(new.opted_out_at) as opted_out_at,
        neoapi.instant(new.preference_at) as preference_at,
        new.organization_id) r;
    return new;
end $$;
create trigger represent_opt_out before insert or update on neoapi.whatsapp_opt_out
    for each row execute function neoapi.whatsapp_opt_out_represent();

-- Whether it was the contact of the conversation who said so.
create function neoapi.whatsapp_is_of(o neoapi.whatsapp_opt_out, c neoapi.whatsapp_conversation) returns boolean
    language sql immutable parallel safe
    return neoapi.whatsapp_folded((o).contact_phone) = neoapi.whatsapp_folded((c).contact_wa_id)
        or (o).contact_bsuid = (c).contact_bsuid or (o).lead_id = (c).lead_id;

-- The latest that counts for a conversation; null where there is none.
create function neoapi.whatsapp_stop(c neoapi.whatsapp_conversation) returns neoapi.whatsapp_opt_out
    language sql stable
    as $$
        select o from neoapi.whatsapp_opt_out o
        where o.organization_id = c.organization_id and neoapi.whatsapp_is_of(o, c)
          and not exists (
              select from neoapi.whatsapp_number n
              where n.organization_id = c.organization_id and n.phone_number_id = o.phone_number_id and n.id <> c.number_id)
        order by greatest(o.preference_at, o.opted_out_at) desc limit 1
    $$;

-- A conversation takes over what its contact has said before it began, or elsewhere, whenever it is touched: before anything is sent it
-- always is, so that no moment lies between an import and the message after it. The latest word counts.
create function neoapi.whatsapp_take_opt_out() returns trigger language plpgsql as $$
declare
    stop neoapi.whatsapp_opt_out := neoapi.whatsapp_stop(new);
    latest timestamptz := new.preference_at;
begin
    if tg_op = 'UPDATE' then
        latest := coalesce(latest, old.opted_out_at);
        if stop.id is null and (old.contact_wa_id, old.contact_bsuid, old.lead_id) -- who has moved is known by other names now
            is distinct from (new.contact_wa_id, new.contact_bsuid, new.lead_id) then
            stop := neoapi.whatsapp_stop(old);
        end if;
    end if;
    if greatest(stop.preference_at, stop.opted_out_at) > coalesce(latest, '-infinity') then
        new.opted_out_at := stop.opted_out_at;
        new.preference_at := greatest(stop.preference_at, stop.opted_out_at);
    end if;
    return new;
end $$;

-- What the conversation knows is kept, in the place of what was known before; a resume ends it, and so does removing what was said. What
-- another conversation with the same lead knows is that one's.
create function neoapi.whatsapp_keep_opt_out() returns trigger language plpgsql as $$
declare
    c neoapi.whatsapp_conversation;
    number text;
begin
    if tg_op = 'INSERT' then
        c := new;
    else
        c := old;
    end if;
    select n.phone_number_id into number from neoapi.whatsapp_number n
    where n.organization_id = c.organization_id and n.id = c.number_id;
    delete from neoapi.whatsapp_opt_out o
    where o.organization_id = c.organization_id and o.phone_number_id = number and neoapi.whatsapp_is_of(o, c)
      and (tg_op = 'DELETE'
           or greatest(o.preference_at, o.opted_out_at) <= coalesce(new.preference_at, new.opted_out_at, c.opted_out_at))
      and not exists (
          select from neoapi.whatsapp_conversation x
          where x.organization_id = c.organization_id and x.id = 'wac_' || right(o.id, 26) and x.id <> c.id
            and x.opted_out_at is not null);
    if tg_op <> 'DELETE' and new.opted_out_at is not null then
        insert into neoapi.whatsapp_opt_out
            (organization_id, id, phone_number_id, contact_phone, contact_bsuid, lead_id, opted_out_at, preference_at)
        values (new.organization_id, 'wao_' || right(new.id, 26), number, new.contact_wa_id, new.contact_bsuid, new.lead_id,
                new.opted_out_at, nullif(new.preference_at, new.opted_out_at))
        on conflict do nothing; -- a later one is there
    end if;
    return null;
end $$;

-- One that is imported changes nothing where the conversation knows as much or more: the contact may have resumed since. Each name is
-- looked for by itself, and as a whole, because only then there is one index for it, whatever PostgreSQL knows of the table.
create function neoapi.whatsapp_pass_over_opt_out() returns trigger language plpgsql as $$
declare
    number text := (select n.id from neoapi.whatsapp_number n
                    where n.organization_id = new.organization_id and n.phone_number_id = new.phone_number_id);
    latest timestamptz := greatest(
        (select max(c.preference_at) from neoapi.whatsapp_conversation c
         where c.organization_id = new.organization_id and c.number_id = number
           and neoapi.whatsapp_folded(c.contact_wa_id) = neoapi.whatsapp_folded(new.contact_phone)),
        (select max(c.preference_at) from neoapi.whatsapp_conversation c
         where c.organization_id = new.organization_id and c.number_id = number and c.contact_bsuid = new.contact_bsuid),
        (select max(c.preference_at) from neoapi.whatsapp_conversation c
         where c.organization_id = new.organization_id and c.number_id = number and c.lead_id = new.lead_id));
begin
    return case when latest >= greatest(new.preference_at, new.opted_out_at) then null else new end;
end $$;

insert into neoapi.whatsapp_opt_out
    (organization_id, id, phone_number_id, contact_phone, contact_bsuid, lead_id, opted_out_at, preference_at)
select c.organization_id, 'wao_' || right(c.id, 26), n.phone_number_id, c.contact_wa_id, c.contact_bsuid, c.lead_id, c.opted_out_at,
       nullif(c.preference_at, c.opted_out_at)
from neoapi.whatsapp_conversation c
join neoapi.whatsapp_number n on n.organization_id = c.organization_id and n.id = c.number_id
where c.opted_out_at is not null;

create trigger take_opt_out before insert or update on neoapi.whatsapp_conversation
    for each row when (new.opted_out_at is null) execute function neoapi.whatsapp_take_opt_out();
create trigger keep_opt_out_of_new after insert on neoapi.whatsapp_conversation
    for each row when (new.opted_out_at is not null) execute function neoapi.whatsapp_keep_opt_out();
create trigger keep_opt_out after update on neoapi.whatsapp_conversation for each row
    when ((old.opted_out_at, old.preference_at, old.contact_wa_id, old.contact_bsuid, old.lead_id)
          is distinct from (new.opted_out_at, new.preference_at, new.contact_wa_id, new.contact_bsuid, new.lead_id)
          and (old.opted_out_at is not null or new.opted_out_at is not null
               or old.preference_at is distinct from new.preference_at)) -- a resume of what was imported
    execute function neoapi.whatsapp_keep_opt_out();
create trigger forget_opt_out after delete on neoapi.whatsapp_conversation
    for each row execute function neoapi.whatsapp_keep_opt_out();
create trigger pass_over_opt_out before insert on neoapi.whatsapp_opt_out
    for each row when (pg_trigger_depth() = 0) execute function neoapi.whatsapp_pass_over_opt_out();
