-- The share of a rate that one start uses, in microseconds. Rounded down, or the last of p_rate_count
-- would have to wait.
--
-- Settings: any plan.
create or replace function limit_share(p_rate_count integer, p_rate_ms bigint)
  returns bigint
  language plpgsql
  immutable
as $$
begin
  return greatest(p_rate_ms * :MICROS_PER_MS / p_rate_count, 1);
end
$$;
