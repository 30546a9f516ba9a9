-- Tries to lock a name of a table until the end of the transaction, whether or not it has a row. Names
-- with the same hash share a lock, which costs them another look.
--
-- Settings: any plan.
create or replace function try_lock_name(p_table regclass, p_name text)
  returns boolean
  language plpgsql
  volatile
as $$
begin
  return pg_try_advisory_xact_lock((p_table::oid::bigint - 2147483648)::integer, hashtext(p_name));
end
$$;
