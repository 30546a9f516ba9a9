-- limit_left() under a lock that keeps others from starting tasks of the limit until the end of the
-- transaction. If another transaction has the lock, the caller looks again in a few milliseconds.
--
-- Settings: any plan.
create or replace function take_limit(
  p_limit_key text,
  p_concurrency integer,
  p_rate_count integer,
  p_rate_ms bigint,
  p_clock bigint,
  out most bigint,
  out opens_at bigint
)
  language plpgsql
  volatile
as $$
begin
  -- First without the lock: a closed limit usually ends here.
  select l.most, l.opens_at
  into most, opens_at
  from limit_left(p_limit_key, p_concurrency, p_rate_count, p_rate_ms, p_clock) as l;
  if most < 1 then
    return;
  end if;

  if not try_lock_name('limits', p_limit_key) then
    most := 0;
    opens_at := p_clock + 5;
    return;
  end if;
  -- A new statement has a new snapshot: it sees starts under the lock before.
  select l.most, l.opens_at
  into most, opens_at
  from limit_left(p_limit_key, p_concurrency, p_rate_count, p_rate_ms, p_clock) as l;
end
$$;
