-- How many tasks of a limit may start now. If none, opens_at is when the next may start (null if another
-- task has to end first).
--
-- Running tasks are counted. The rate is one time per limit, until which it is used up (the generic cell
-- rate algorithm): each start adds its share, and a task may start as long as that time stays within
-- p_rate_ms from now. So p_rate_count tasks may start at once, and then one per share.
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
    -- Negative if a transaction with a later clock was here.
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
