-- The first key of our advisory locks; the second is the number of a runtime. Another schema of the
-- same database has another table, and so another key.
--
-- Settings: its caller's.
create or replace function lock_space()
  returns integer
  language sql
  stable
as $$
  select ('runtimes'::regclass::oid::bigint - 2147483648)::integer
$$;
