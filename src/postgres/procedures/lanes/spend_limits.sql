-- Records starts of tasks for limits with a rate. The caller has locked the limits.
create or replace function spend_limits(
  p_limit_keys text[],
  p_rate_counts integer[],
  p_rate_mss bigint[],
  p_clock bigint
)
  returns void
  language plpgsql
  volatile
as $$
begin
  insert into limits as l (limit_key, spent_until)
  select g.limit_key, p_clock * :MICROS_PER_MS + sum(limit_share(g.rate_count, g.rate_ms))
  from unnest(p_limit_keys, p_rate_counts, p_rate_mss) as g (limit_key, rate_count, rate_ms)
  where g.rate_count is not null
  group by g.limit_key
  on conflict (limit_key) do update
  set spent_until = excluded.spent_until - p_clock * :MICROS_PER_MS + (
    select rate_spent_until(l.spent_until, g.rate_count, g.rate_ms, p_clock)
    from unnest(p_limit_keys, p_rate_counts, p_rate_mss) as g (limit_key, rate_count, rate_ms)
    where g.limit_key = l.limit_key
      and g.rate_count is not null
    limit 1
  );
end
$$;
