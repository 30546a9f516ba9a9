-- The server's clock, in milliseconds since 1970. Only now_ms() and keep_clock() read it. Tests replace
-- it in their own schema.
--
-- Settings: its caller's.
create or replace function wall_ms()
  returns bigint
  language sql
  volatile
as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;
