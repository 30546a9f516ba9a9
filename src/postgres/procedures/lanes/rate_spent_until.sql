-- Until when a rate is used up, in microseconds, by what is stored. What is far beyond p_rate_ms from now
-- was spent under another rate, or before the clock was turned back: then one may start.
--
-- Settings: any plan.
create or replace function rate_spent_until(
  p_stored bigint,
  p_rate_count integer,
  p_rate_ms bigint,
  p_clock bigint
)
  returns bigint
  language plpgsql
  immutable
as $$
declare
  v_all_spent bigint := (p_clock + p_rate_ms) * :MICROS_PER_MS;
begin
  if p_stored > v_all_spent + :RATE_SLACK_MS * :MICROS_PER_MS then
    return v_all_spent - limit_share(p_rate_count, p_rate_ms);
  end if;
  return greatest(p_stored, p_clock * :MICROS_PER_MS);
end
$$;
