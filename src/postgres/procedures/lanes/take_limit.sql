-- As limit_left(), and keeps others from starting tasks of the limit until the end of the
-- transaction. Who is kept from it looks again soon.
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
  -- First without the lock: most that is closed is passed by here.
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
  -- A new statement, and so a new snapshot: it sees what whoever had the lock has started.
  select l.most, l.opens_at
  into most, opens_at
  from limit_left(p_limit_key, p_concurrency, p_rate_count, p_rate_ms, p_clock) as l;
end
$$;
