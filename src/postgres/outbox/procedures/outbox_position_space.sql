-- The first key of the advisory locks that announce positions: see lock_space().
--
-- Settings: its caller's.
create or replace function outbox_position_space()
  returns integer
  language sql
  stable
as $$
  select ('outbox_messages'::regclass::oid::bigint - 2147483648)::integer
$$;
