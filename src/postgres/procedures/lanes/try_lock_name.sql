-- Locks a name until the end of the transaction, if nobody else does: what a row of the table
-- stands for, whether the row is there or not. Names that share a hash share a lock, which costs
-- them a second look.
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
