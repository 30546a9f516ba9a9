-- The first key of the advisory locks of this outbox: see lock_space().
--
-- Settings: its caller's.
create or replace function outbox_lock_space()
  returns integer
  language sql
  stable
as $$
  select ('outbox_partitions'::regclass::oid::bigint - 2147483648)::integer
$$;
