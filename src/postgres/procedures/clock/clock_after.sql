-- The store's clock when the server's shows p_wall, by what was noted last (see clock_kept): where it
-- was then and nine tenths of what has passed since, or the server's where that is further. So it goes
-- on where it was when the server's clock is set back, and more slowly until the two agree.
--
-- Leases are renewed, and the clock noted, every ten seconds and more often. If much more has passed by
-- the server's clock, that was set forward, or nobody was here: then nothing has passed, but the store's
-- clock is ahead by so much less. Rather seconds late than minutes early.
--
-- More than an hour it is never ahead: whoever waits for a date would be far too early, and for long.
-- Then it is the server's.
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
