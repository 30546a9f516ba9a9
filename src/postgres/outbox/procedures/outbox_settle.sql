-- What a settlement says about single messages: those that become dead letters, those that wait apart
-- from now on, and those that waited. The caller has locked the partition and judged the settlement.
create or replace function outbox_settle(p_partition integer, p_settle jsonb, p_clock bigint)
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_keys text[];
begin
  if jsonb_array_length(p_settle -> 'dead') > 0 then
    insert into outbox_dead_letters (
      partition, id, seq, enqueued_at, key, payload, headers, failures, reason, failed_at
    )
    select
      p_partition, m.id, d.seq, m.enqueued_at, m.key, m.payload, m.headers, d.failures, d.reason,
      p_clock
    from jsonb_to_recordset(p_settle -> 'dead')
      as d (position bigint, seq bigint, reason text, failures integer)
    cross join lateral (
      select w.id, w.enqueued_at, w.key, w.payload, w.headers
      from outbox_waiting as w
      where w.partition = p_partition
        and w.position = d.position
      union all
      select coalesce(m.id, m.position), m.enqueued_at, m.key, m.payload, m.headers
      from outbox_messages as m
      where m.partition = p_partition
        and m.position = d.position
      limit 1
    ) as m
    order by d.position;
  end if;

  if jsonb_array_length(p_settle -> 'waiting') > 0 or jsonb_array_length(p_settle -> 'dead') > 0 then
    with settled as (
      delete from outbox_waiting as w
      using (
        select position
        from jsonb_to_recordset(p_settle -> 'waiting') as o (position bigint, retry jsonb)
        where coalesce(jsonb_typeof(o.retry), 'null') = 'null'
        union all
        select position from jsonb_to_recordset(p_settle -> 'dead') as d (position bigint)
      ) as o
      where w.partition = p_partition
        and w.position = o.position
      returning w.key
    )
    select array_agg(distinct key) into v_keys from settled where key is not null;
    update outbox_waiting as w
    set failures = (o.retry ->> 'failures')::integer,
        due_at = (o.retry ->> 'dueAt')::bigint
    from jsonb_to_recordset(p_settle -> 'waiting') as o (position bigint, retry jsonb)
    where w.partition = p_partition
      and w.position = o.position
      and jsonb_typeof(o.retry) = 'object';
  end if;

  if jsonb_array_length(p_settle -> 'deferred') > 0 then
    insert into outbox_waiting (
      partition, position, id, seq, enqueued_at, expires_at, key, payload, headers, failures, due_at
    )
    select
      p_partition, m.position, coalesce(m.id, m.position), a.seq, m.enqueued_at, m.expires_at, m.key,
      m.payload, m.headers, a.failures, a.due_at
    from jsonb_to_recordset(p_settle -> 'deferred')
      as a (position bigint, seq bigint, failures integer, due_at bigint)
    join outbox_messages as m
      on m.partition = p_partition
      and m.position = a.position;
    -- Only the first of each key is tried again.
    update outbox_waiting as w
    set due_at = null
    from jsonb_to_recordset(p_settle -> 'deferred') as a (position bigint)
    where w.partition = p_partition
      and w.position = a.position
      and exists (
        select from outbox_waiting as b
        where b.partition = p_partition
          and b.key = w.key
          and b.position < w.position
      );
  end if;

  -- Those behind a message that is done come next.
  update outbox_waiting as w
  set due_at = p_clock
  from unnest(v_keys) as k (key)
  where w.partition = p_partition
    and w.key = k.key
    and w.due_at is null
    and w.position = (
      select min(b.position)
      from outbox_waiting as b
      where b.partition = p_partition
        and b.key = k.key
    );
end
$$;
