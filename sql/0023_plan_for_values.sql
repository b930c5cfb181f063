-- A condition that seems so dear that PostgreSQL plans a prepared statement anew for the values of each execution, instead of once for values
-- that it does not know: see src/store/page.c. It is not run: with its values the statement is planned without it.
create function neoapi.costly() returns boolean
    language plpgsql volatile cost 1e12 as $$
begin
    return true;
end $$;
