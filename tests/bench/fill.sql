-- SPDX-License-Identifier: Apache-2.0
-- Fills the tables of brokers and of properties: :brokers and :properties of them, evenly over all organizations, created in turns
-- over the last two years, so that the rows of one organization lie scattered as they would in life. The triggers make the
-- representations. Every organization gets a subscription to broker.created and broker.updated.

\set ON_ERROR_STOP on
begin;
set local synchronous_commit = off;
set local maintenance_work_mem = '512MB';
truncate neoapi.broker, neoapi.property, neoapi.reference, neoapi.idempotency_key, neoapi.webhook_subscription,
    neoapi.webhook_delivery, neoapi.webhook_attempt, neoapi.webhook_queue, neoapi.event
    cascade; -- tables that refer to brokers are empty

-- Indexes besides the keys are made anew afterwards, which takes a fraction of the time.
create temporary table dropped on commit drop as
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index where indrelid in ('neoapi.broker'::regclass, 'neoapi.property'::regclass) and not indisprimary;
create temporary table sampled on commit drop as -- which an index's definition does not have
    select format('alter index %s alter column %s set statistics %s', name, attnum, attstattarget) as setting
    from dropped join pg_attribute on attrelid = name::regclass where attstattarget > 0;
select format('drop index %s', name) from dropped \gexec

create temporary table owner on commit drop as
    select row_number() over (order by o.id) - 1 as number, o.id as organization_id, o.tenant_id, min(c.id) as credential_id
    from neoapi.organization o join neoapi.credential c on c.organization_id = o.id group by o.id, o.tenant_id;

create temporary table word on commit drop as select
    array['Ana Beatriz', 'André', 'Antônio', 'Beatriz', 'Bruno', 'Camila', 'Carlos Eduardo', 'Cecília', 'Cláudia', 'Daniel',
          'Débora', 'Eduardo', 'Elaine', 'Fábio', 'Fernanda', 'Flávia', 'Gabriel', 'Gustavo', 'Helena', 'Heloísa', 'Igor',
          'Isabela', 'João Pedro', 'José Carlos', 'Júlia', 'Larissa', 'Letícia', 'Luís Fernando', 'Luíza', 'Marcelo', 'Márcia',
          'Mariana', 'Mateus', 'Natália', 'Otávio', 'Patrícia', 'Paulo', 'Rafael', 'Renata', 'Ricardo', 'Rodrigo', 'Sérgio',
          'Simone', 'Tatiane', 'Thiago', 'Vanessa', 'Vinícius', 'Vitória'] as givens,
    array['Almeida', 'Alves', 'Andrade', 'Araújo', 'Assunção', 'Barbosa', 'Batista', 'Borges', 'Campos', 'Cardoso', 'Carvalho',
          'Castro', 'Conceição', 'Correia', 'Costa', 'Dias', 'Fernandes', 'Ferreira', 'Fonseca', 'Freitas', 'Gomes',
          'Gonçalves', 'Guimarães', 'Lima', 'Lopes', 'Machado', 'Magalhães', 'Martins', 'Mendes', 'Monteiro', 'Moreira',
          'Nascimento', 'Nogueira', 'Oliveira', 'Pereira', 'Ribeiro', 'Rocha', 'Rodrigues', 'Santos', 'Silva', 'Souza',
          'Teixeira', 'Vieira'] as families,
    array['001 Banco do Brasil', '237 Bradesco', '341 Itaú Unibanco', '104 Caixa Econômica Federal', '033 Santander'] as banks,
    array['SP', 'RJ', 'MG', 'PR', 'RS', 'SC', 'BA', 'PE'] as states,
    (select array_agg(digit order by at) from regexp_split_to_table('0123456789abcdefghjkmnpqrstvwxyz', '')
        with ordinality as d (digit, at)) as base32;

-- The n-th of so many moments.
create function pg_temp.spread_ms(n bigint, many bigint) returns bigint language sql stable as $$
    select (extract(epoch from date_trunc('day', now()) - interval '730 days') * 1000)::bigint + n * (730::bigint * 86400000 / many)
$$;

-- An id is the moment in 10 digits of base32, and 16 random digits; hexadecimal ones will do.
create function pg_temp.make_id(prefix text, ms bigint, n bigint, base32 text[]) returns text language sql immutable as $$
    select prefix || base32[(ms >> 45 & 31) + 1] || base32[(ms >> 40 & 31) + 1] || base32[(ms >> 35 & 31) + 1]
        || base32[(ms >> 30 & 31) + 1] || base32[(ms >> 25 & 31) + 1] || base32[(ms >> 20 & 31) + 1]
        || base32[(ms >> 15 & 31) + 1] || base32[(ms >> 10 & 31) + 1] || base32[(ms >> 5 & 31) + 1]
        || base32[(ms & 31) + 1] || left(md5(n::text), 16)
$$;

insert into neoapi.broker (organization_id, id, tenant_id, name, creci, document_number, email, phone, bank_account, visibility,
                           created_at, updated_at, created_by, updated_by)
select o.organization_id,
       pg_temp.make_id('brk_', ms, n, w.base32),
       o.tenant_id,
       given || ' ' || family || ' ' || w.families[1 + mod(n / 43, 43)],
       format('CRECI-%s %s-F', w.states[1 + mod(n, 8)], lpad(n::text, 7, '0')),
       format('%s.%s.%s-%s', 100 + mod(n * 7, 900), 100 + mod(n * 13, 900), 100 + mod(n * 17, 900), 10 + mod(n, 90)),
       email,
       format('+55 %s 90000-%s', 11 + mod(n, 80), 1000 + mod(n * 31, 9000)),
       case when mod(n * 3, 10) > 0 then
           json_strip_nulls(json_build_object( -- without spaces, as the module writes it
               'bank_code', left(bank, 3), 'bank_name', substr(bank, 5), 'agency', (1000 + mod(n * 11, 9000))::text,
               'account_number', format('%s-%s', 10000 + mod(n * 101, 90000), mod(n, 10)),
               'account_type', 'checking', 'pix_key', email)) end,
       case mod(n * 7, 12) when 0 then 'public' when 1 then 'private' else 'restricted' end,
       moment, moment, o.credential_id, o.credential_id
from word w, generate_series(0, :brokers - 1) as g (n)
     join owner o on o.number = mod(n, (select count(*) from owner)),
     lateral (select pg_temp.spread_ms(n, :brokers)) as t (ms),
     lateral (select to_timestamp(ms / 1000.0), w.givens[1 + mod(hashint4(n) & 65535, 48)],
                  w.families[1 + mod(hashint4(n + 1) & 65535, 43)], w.banks[1 + mod(n, 5)]) as s (moment, given, family, bank),
     lateral (select translate(lower(given || '.' || family), 'áãâéêíóôõúç ', 'aaaeeiooouc.') || n || '@example.com') as e (email)
order by n;

-- The brokers in charge of properties: fifty of each organization.
create temporary table agent on commit drop as
    select o.organization_id, b.id, row_number() over (partition by o.organization_id) - 1 as number
    from owner o, lateral (select id from neoapi.broker b where b.organization_id = o.organization_id order by id limit 50) b;

-- Which of the organizations a property belongs to follows from its number, so everything else follows from a hash of that.
create temporary table place on commit drop as
    select row_number() over () - 1 as number, * from (values
        ('SP', 'São Paulo', 'Vila Mariana', 11), ('SP', 'Campinas', 'Cambuí', 19), ('SP', 'Santos', 'Gonzaga', 13),
        ('SP', 'Guarulhos', 'Vila Augusta', 11), ('SP', 'Ribeirão Preto', 'Jardim Botânico', 16),
        ('SP', 'São José dos Campos', 'Jardim Aquarius', 12), ('RJ', 'Rio de Janeiro', 'Botafogo', 21),
        ('RJ', 'Niterói', 'Icaraí', 21), ('MG', 'Belo Horizonte', 'Savassi', 31), ('MG', 'Uberlândia', 'Santa Mônica', 34),
        ('PR', 'Curitiba', 'Batel', 41), ('PR', 'Londrina', 'Gleba Palhano', 43), ('RS', 'Porto Alegre', 'Moinhos de Vento', 51),
        ('RS', 'Caxias do Sul', 'São Pelegrino', 54), ('SC', 'Florianópolis', 'Trindade', 48), ('SC', 'Joinville', 'América', 47),
        ('BA', 'Salvador', 'Pituba', 71), ('PE', 'Recife', 'Boa Viagem', 81), ('CE', 'Fortaleza', 'Aldeota', 85),
        ('DF', 'Brasília', 'Asa Sul', 61)) as p (state, city, neighborhood, area_code);

analyze owner, agent, place;

insert into neoapi.property (organization_id, id, tenant_id, code, title, transaction_type, usage_type, property_type, status,
                             sale_price, rent_price, condo_fee, iptu_amount, iptu_period, address, address_display, private_area,
                             total_area, bedrooms, suites, bathrooms, parking_spaces, broker_id, exclusive, accepts_financing,
                             features, external_id, created_at, updated_at, created_by, updated_by)
select o.organization_id,
       pg_temp.make_id('prp_', ms, n, w.base32),
       o.tenant_id,
       format('AP-%s', lpad(n::text, 7, '0')),
       format('%s de %s quartos em %s', noun, rooms, p.neighborhood),
       offer, 'residential', kind,
       case when mod(h, 100) < 60 then 'active' when mod(h, 100) < 75 then 'sold' when mod(h, 100) < 85 then 'rented'
            when mod(h, 100) < 92 then 'draft' when mod(h, 100) < 96 then 'under_contract' else 'withdrawn' end,
       case when offer <> 'rent' then area * (600000 + mod(h, 700) * 1000) end,
       case when offer <> 'sale' then area * (2500 + mod(h, 400) * 10) end,
       case when kind <> 'house' then area * 1100 end,
       area * 4200, 'yearly',
       json_strip_nulls(json_build_object(
           'postal_code', format('%s%s-%s', p.area_code, 100 + mod(i, 900), 100 + mod(h, 900)),
           'street', 'Rua ' || w.families[1 + mod(i, 43)], 'number', mod(h, 2000)::text,
           'neighborhood', p.neighborhood, 'city', p.city, 'state', p.state)),
       'neighborhood', area, area * 1.25, rooms, mod(rooms, 2), rooms, rooms / 2 + 1,
       case when mod(i / 16000, 2) = 0 then b.id end, mod(i / 160000, 4) = 0, offer <> 'rent',
       '["Varanda","Piscina","Portaria 24 horas"]',
       format('crm-%s', n), moment, moment, o.credential_id, o.credential_id
from word w cross join generate_series(0, :properties - 1) as g (n)
     join owner o on o.number = mod(n, (select count(*) from owner))
     cross join lateral (select pg_temp.spread_ms(n, :properties), hashint4(n) & 2147483647, hashint4(n + :properties) & 2147483647)
         as t (ms, h, i)
     cross join lateral (select to_timestamp(ms / 1000.0), 1 + mod(i / 3200, 5), 35 + mod(i, 200),
                  (array['sale', 'sale', 'rent', 'sale_rent'])[1 + mod(i / 200, 4)],
                  (array['apartment', 'apartment', 'house', 'penthouse'])[1 + mod(i / 800, 4)],
                  (array['Apartamento', 'Apartamento', 'Casa', 'Cobertura'])[1 + mod(i / 800, 4)])
         as s (moment, rooms, area, offer, kind, noun)
     join place p on p.number = mod(h / 100, (select count(*) from place))
     join agent b on b.organization_id = o.organization_id and b.number = mod(h / 2000, 50)
order by n;

-- Nothing is to be looked up: the brokers are there.
set local session_replication_role = replica;
insert into neoapi.reference (organization_id, source_id, path, target_id)
select organization_id, id, 'broker_id', broker_id from neoapi.property where broker_id is not null;
set local session_replication_role = origin;

select definition from dropped \gexec
select setting from sampled \gexec

insert into neoapi.webhook_subscription
    (organization_id, id, tenant_id, url, events, created_at, updated_at, created_by, updated_by, secret)
select organization_id, 'whs_' || substr(organization_id, 5), tenant_id, 'https://receiver.invalid/hook', '{broker.created,broker.updated}',
    now(), now(), credential_id, credential_id, '' -- nothing is sent
from owner;
commit;
vacuum (analyze) neoapi.broker, neoapi.property, neoapi.reference, neoapi.webhook_subscription;

-- Segments of the log, 4 GB, which the checkpoint leaves to be used again.
do $$
begin
    for n in 1 .. 256 loop
        perform pg_logical_emit_message(false, '', '');
        perform pg_switch_wal();
    end loop;
end $$;
checkpoint;
