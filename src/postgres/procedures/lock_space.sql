-- The first half of our advisory locks; the second is the number of a runtime. Another schema of
-- the same database has another table, and so another half.
create or replace function lock_space()
  returns integer
  language plpgsql
  stable
  set search_path from current
as $$
begin
  return 'runtimes'::regclass::oid::bigint - 2147483648;
end
$$;
