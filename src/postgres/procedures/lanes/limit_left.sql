-- How many tasks of a limit may be started now; and when it opens by time alone, if it is closed
-- now (null if another task has to end first).
--
-- How many are held is counted. How many were started lately is one time for each limit, until
-- which its rate is used up (the generic cell rate algorithm): each start adds its share to it,
-- and one may start as long as that leaves it within p_rate_ms from now. So p_rate_count may start
-- at once, and then one for each share of time that has passed.
create or replace function limit_left(
  p_limit_key text,
  p_concurrency integer,
  p_rate_count integer,
  p_rate_ms bigint,
  p_clock bigint,
  out most bigint,
  out opens_at bigint
)
  language plpgsql
  stable
  set enable_bitmapscan to off
as $$
declare
  v_share bigint;
  v_spent_until bigint;
begin
  most := 2147483647;
  if p_concurrency is not null then
    most := p_concurrency - (
      select count(*)
      from (
        select
        from tasks as t
        where t.limit_key = p_limit_key collate "C"
          and t.held_by is not null
        limit p_concurrency
      ) as held
    );
    if most < 1 then
      return;
    end if;
  end if;
  if p_rate_count is not null then
    v_share := limit_share(p_rate_count, p_rate_ms);
    v_spent_until := greatest(
      p_clock * :MICROS_PER_MS,
      (select l.spent_until from limits as l where l.limit_key = p_limit_key collate "C")
    );
    -- Negative when somebody with a later clock was here.
    most := greatest(
      least(most, (p_clock * :MICROS_PER_MS + p_rate_ms * :MICROS_PER_MS - v_spent_until) / v_share),
      0
    );
    if most < 1 then
      opens_at := (v_spent_until + v_share - p_rate_ms * :MICROS_PER_MS + :MICROS_PER_MS - 1) / :MICROS_PER_MS;
    end if;
  end if;
end
$$;
