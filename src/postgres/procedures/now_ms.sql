-- The only clock, in milliseconds since 1970: that of the server, and ahead of it for a while after
-- that was set back, see keep_clock(). Procedures read it once, into a variable: in a condition it would
-- be asked for every row. Tests replace it in their own schema.
create or replace function now_ms()
  returns bigint
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  return wall_ms() + coalesce(pg_sequence_last_value('clock_ahead'::regclass), 0);
end
$$;
