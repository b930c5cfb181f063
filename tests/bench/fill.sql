-- Fills the table of brokers: :brokers of them, evenly over all organizations, created in turns over the last two years, so that
-- the rows of one organization lie scattered as they would in life. Every organization gets a subscription to broker.created.

\set ON_ERROR_STOP on
begin;
set local synchronous_commit = off;
set local maintenance_work_mem = '512MB';
truncate neoapi.broker, neoapi.idempotency_key, neoapi.webhook_subscription, neoapi.webhook_delivery,
    neoapi.webhook_attempt, neoapi.webhook_queue;

-- Indexes besides the keys are made anew afterwards, which takes a fraction of the time.
create temporary table dropped on commit drop as
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index where indrelid = 'neoapi.broker'::regclass and not indisprimary;
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

-- An id is the moment in 10 digits of base32, and 16 digits that nobody guesses; hexadecimal ones will do.
insert into neoapi.broker (organization_id, id, tenant_id, name, creci, document_number, email, phone, bank_account, visibility,
                           created_at, updated_at, created_by, updated_by)
select o.organization_id,
       'brk_' || w.base32[(ms >> 45 & 31) + 1] || w.base32[(ms >> 40 & 31) + 1] || w.base32[(ms >> 35 & 31) + 1]
           || w.base32[(ms >> 30 & 31) + 1] || w.base32[(ms >> 25 & 31) + 1] || w.base32[(ms >> 20 & 31) + 1]
           || w.base32[(ms >> 15 & 31) + 1] || w.base32[(ms >> 10 & 31) + 1] || w.base32[(ms >> 5 & 31) + 1]
           || w.base32[(ms & 31) + 1] || left(md5(n::text), 16),
       o.tenant_id,
       given || ' ' || family || ' ' || w.families[1 + mod(n / 43, 43)],
       format('CRECI-%s %s-F', w.states[1 + mod(n, 8)], lpad(n::text, 7, '0')),
       format('%s.%s.%s-%s', 100 + mod(n * 7, 900), 100 + mod(n * 13, 900), 100 + mod(n * 17, 900), 10 + mod(n, 90)),
       email,
       format('+55 %s 90000-%s', 11 + mod(n, 80), 1000 + mod(n * 31, 9000)),
       case when mod(n * 3, 10) > 0 then
           json_build_object('bank_code', left(bank, 3), 'bank_name', substr(bank, 5), 'agency', (1000 + mod(n * 11, 9000))::text,
                             'account_number', format('%s-%s', 10000 + mod(n * 101, 90000), mod(n, 10)),
                             'account_type', 'checking', 'pix_key', email) end,
       case mod(n * 7, 12) when 0 then 'public' when 1 then 'private' else 'restricted' end,
       moment, moment, o.credential_id, o.credential_id
from word w, generate_series(0, :brokers - 1) as g (n)
     join owner o on o.number = mod(n, (select count(*) from owner)),
     lateral (select (extract(epoch from date_trunc('day', now()) - interval '730 days') * 1000)::bigint
                  + n * (730::bigint * 86400000 / :brokers)) as t (ms),
     lateral (select to_timestamp(ms / 1000.0), w.givens[1 + mod(hashint4(n) & 65535, 48)],
                  w.families[1 + mod(hashint4(n + 1) & 65535, 43)], w.banks[1 + mod(n, 5)]) as s (moment, given, family, bank),
     lateral (select translate(lower(given || '.' || family), 'áãâéêíóôõúç ', 'aaaeeiooouc.') || n || '@example.com') as e (email)
order by n;

select definition from dropped \gexec

insert into neoapi.webhook_subscription
    (organization_id, id, tenant_id, url, events, created_at, updated_at, created_by, updated_by, secret)
select organization_id, 'whs_' || substr(organization_id, 5), tenant_id, 'https://receiver.invalid/hook', '{broker.created}', now(),
    now(), credential_id, credential_id, '' -- nothing is sent
from owner;
commit;
vacuum (analyze) neoapi.broker, neoapi.webhook_subscription;
checkpoint;
