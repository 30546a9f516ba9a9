-- How many tasks of a limit may start now. If none, opens_at is when the next may start (null if another
-- task has to end first). Running tasks are counted; for the rate see rate_left().
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
  v_rate record;
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
    select r.most, r.opens_at
    into v_rate
    from rate_left(p_limit_key, p_rate_count, p_rate_ms, p_clock) as r;
    most := least(most, v_rate.most);
    opens_at := v_rate.opens_at;
  end if;
end
$$;
