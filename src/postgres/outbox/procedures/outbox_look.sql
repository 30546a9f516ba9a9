-- The partitions that there may be something to do for, of those that have no live owner: with a message
-- after the cursor, with messages that wait apart, or with a transaction that is still open and may add
-- some. All of them when p_partitions is null: only those that have messages are looked at.
create or replace function outbox_look(p_partitions integer[])
  returns table (clock bigint, partition integer, due_at bigint, is_blocked boolean)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
  v_keys bigint[];
  v_partitions integer[] := p_partitions;
begin
  perform require_fresh_snapshots();
  select a.keys into v_keys from outbox_adders(0) as a;
  if v_partitions is null then
    v_partitions := array(
      with recursive used as (
        (select m.partition from outbox_messages as m order by m.partition limit 1)
        union all
        select (
          select m.partition
          from outbox_messages as m
          where m.partition > used.partition
          order by m.partition
          limit 1
        )
        from used
        where used.partition is not null
      ),
      waiting as (
        (select w.partition from outbox_waiting as w order by w.partition limit 1)
        union all
        select (
          select w.partition
          from outbox_waiting as w
          where w.partition > waiting.partition
          order by w.partition
          limit 1
        )
        from waiting
        where waiting.partition is not null
      )
      select used.partition from used where used.partition is not null
      union
      select waiting.partition from waiting where waiting.partition is not null
      union
      select ((k >> 16) * 16 + bit)::integer
      from unnest(v_keys) as k
      cross join generate_series(0, 15) as bit
      where k & (1 << bit) <> 0
    );
  end if;
  return query
  select v_clock, w.partition, w.due_at, w.is_blocked
  from (
    select
      p.partition,
      least(
        case when m.position is not null then coalesce(p.due_at, 0) end,
        case when p.has_waiting then (
          select min(w.due_at)
          from outbox_waiting as w
          where w.partition = p.partition
            and w.due_at is not null
        ) end
      ) as due_at,
      exists (
        select from unnest(v_keys) as k
        where k >> 16 = p.partition / 16
          and k & (1 << (p.partition % 16)) <> 0
      ) as is_blocked
    from unnest(v_partitions) as g (partition)
    join outbox_partitions as p on p.partition = g.partition
    left join lateral (
      select m.position
      from outbox_messages as m
      where m.partition = p.partition
        and m.position > p.cursor
        and not m.position = any (p.done)
      order by m.position
      limit 1
    ) as m on true
    where p.owner is null
      or not exists (
        select from runtimes as r where r.runtime = p.owner and r.state = :RUNTIME.alive
      )
  ) as w
  where w.due_at is not null
    or w.is_blocked;
  -- So that the clock is answered in any case.
  return query select v_clock, null::integer, null::bigint, null::boolean;
end
$$;
