-- The store's clock, in milliseconds since 1970: the server's clock, or ahead of it for a while after
-- that was turned back, see clock_after(). Procedures read it once, into a variable: in a condition it
-- would be called for every row. Tests replace it in their own schema.
--
-- Settings: any plan.
create or replace function now_ms()
  returns bigint
  language plpgsql
  volatile
as $$
declare
  -- Before the server's clock: see keep_clock().
  v_kept bigint := coalesce(pg_sequence_last_value('clock_kept'::regclass), 0);
  v_wall bigint := wall_ms();
begin
  -- The usual case: the clock was not turned back. Saves a call that costs more than all of this.
  if v_kept % 1000000 = 0 and v_wall >= v_kept / 1000000 then
    return v_wall;
  end if;
  return clock_after(v_kept, v_wall);
end
$$;
