-- Which server this is: changes when it restarts and when another one takes its place.
--
-- Settings: its caller's.
create or replace function server_identity()
  returns text
  language sql
  volatile
as $$
  select to_hex((extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint)
    -- The first eight digits of a WAL file's name are the timeline.
    || '-' || ltrim(left(pg_walfile_name(pg_current_wal_lsn()), 8), '0')
$$;
