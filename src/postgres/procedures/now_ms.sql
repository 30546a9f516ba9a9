-- The only clock, in milliseconds since 1970. Procedures read it once, into a variable: in a
-- condition it would be asked for every row. Tests replace it in their own schema.
create or replace function now_ms()
  returns bigint
  language sql
  volatile
as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;
