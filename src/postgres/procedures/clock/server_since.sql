-- When the server was started, by the store's clock as last recorded: see clock_kept. Tests that set
-- the clock replace it in their own schema.
--
-- Settings: its caller's.
create or replace function server_since()
  returns bigint
  language sql
  stable
as $$
  select floor(extract(epoch from pg_postmaster_start_time()) * 1000)::bigint
    + coalesce(pg_sequence_last_value('clock_kept'::regclass), 0) % 1000000 * 10
$$;
