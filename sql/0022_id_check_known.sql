-- The checks of the migration before, for the rows that were there. Whoever reads and writes goes on.
do $$
declare
    new record;
begin
    for new in select conrelid::regclass as place, conname as name from pg_constraint
               where connamespace = 'neoapi'::regnamespace and contype = 'c' and not convalidated loop
        execute format('alter table %s validate constraint %I', new.place, new.name);
    end loop;
end $$;
