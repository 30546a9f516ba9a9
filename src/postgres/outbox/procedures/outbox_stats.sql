-- How full the partitions of these topics are. Counts: for people. A delayed message is not old before it is
-- due: no process is late with it.
--
-- Settings: any plan.
create or replace function outbox_stats(p_topics integer[])
  returns table (
    clock bigint,
    partition integer,
    depth bigint,
    ready bigint,
    delayed bigint,
    oldest_at bigint
  )
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
begin
  return query
  select
    v_clock, p.partition,
    m.count + w.count + d.count,
    case when p.due_at > v_clock then 0 else m.ready end + w.due,
    d.count,
    least(m.oldest, w.oldest, d.oldest)
  from outbox_partitions as p
  cross join lateral (
    -- Nothing from here on is delivered now.
    select min(g.position) as position
    from unnest(p.later, p.later_at) as g (position, at)
    where g.at > v_clock
  ) as l
  cross join lateral (
    select
      count(*) as count,
      count(*) filter (where l.position is null or m.position < l.position) as ready,
      min(m.enqueued_at) as oldest
    from outbox_messages as m
    where m.partition = p.partition
      and m.position > p.cursor
      and not m.position = any (p.done)
  ) as m
  cross join lateral (
    select
      count(*) as count,
      count(*) filter (where w.due_at <= v_clock) as due,
      min(w.enqueued_at) as oldest
    from outbox_waiting as w
    where w.partition = p.partition
  ) as w
  left join (
    select
      d.partition,
      count(*) as count,
      min(d.due_at) filter (where d.due_at <= v_clock) as oldest
    from outbox_delayed as d
    group by d.partition
  ) as e on e.partition = p.partition
  cross join lateral (select coalesce(e.count, 0) as count, e.oldest) as d
  where p.topic = any (p_topics)
  order by p.partition;
  return query select v_clock, null::integer, null::bigint, null::bigint, null::bigint,
    null::bigint;
end
$$;
