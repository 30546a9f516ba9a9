-- The store's clock when the server's clock shows p_wall, computed from the last record (see
-- clock_kept): the store's clock then, plus nine tenths of the time since, or the server's clock if that
-- is later. So the store's clock never goes back when the server's is turned back; it runs more slowly
-- until the two agree.
--
-- Leases are renewed, and the clock recorded, at least every ten seconds. If the server's clock advanced
-- by much more, it was set forward, or no runtime was there: then no time is added, and the difference
-- between the clocks shrinks. Seconds late is better than minutes early.
--
-- The store's clock is at most an hour ahead: beyond that it would fire timers far too early, so the
-- server's clock is used.
--
-- Settings: its caller's.
create or replace function clock_after(p_kept bigint, p_wall bigint)
  returns bigint
  language plpgsql
  immutable
as $$
declare
  v_seen bigint := p_kept / 1000000;
  v_passed bigint := p_wall - v_seen;
  v_clock bigint := v_seen + p_kept % 1000000 * 10;
begin
  if v_passed between 0 and 15000 then
    v_clock := v_clock + v_passed - v_passed / 10;
  end if;
  if v_clock > p_wall + 3600000 then
    return p_wall;
  end if;
  return greatest(v_clock, p_wall);
end
$$;
