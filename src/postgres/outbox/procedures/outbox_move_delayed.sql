-- Puts delayed messages that are due into their partitions, behind all others.
create or replace function outbox_move_delayed(
  out clock bigint,
  out partitions integer[],
  out next_at bigint
)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_due_ats bigint[];
  v_ids bigint[];
  v_first bigint;
begin
  perform require_fresh_snapshots();
  clock := now_ms();
  select array_agg(d.due_at order by d.due_at, d.id), array_agg(d.id order by d.due_at, d.id),
    array_agg(distinct d.partition)
  into v_due_ats, v_ids, partitions
  from (
    select d.due_at, d.id, d.partition
    from outbox_delayed as d
    where d.due_at <= clock
    order by d.due_at, d.id
    limit :MAX_OUTBOX_MOVED
    for update skip locked
  ) as d;
  if partitions is not null then
    perform be_durable();
    -- Before positions are given out: see outbox_adders().
    perform outbox_enter(partitions);
    v_first := nextval('outbox_positions');
    perform outbox_note_position(v_first);
    with moved as (
      delete from outbox_delayed as d
      using unnest(v_due_ats, v_ids) as g (due_at, id)
      where d.due_at = g.due_at
        and d.id = g.id
      returning d.*
    )
    insert into outbox_messages (
      partition, position, id, enqueued_at, expires_at, key, payload, headers
    )
    select
      m.partition, nextval('outbox_positions'), m.id, m.enqueued_at, m.due_at + m.ttl_ms, m.key,
      m.payload, m.headers
    from (select * from moved order by due_at, id) as m;
    perform outbox_notify(partitions, 0, clock);
  end if;
  next_at := (
    select d.due_at
    from outbox_delayed as d
    where not d.id = any (coalesce(v_ids, '{}'))
    order by d.due_at, d.id
    limit 1
  );
  -- Others are moving what is left of those that are due: no use in trying again at once.
  if next_at <= clock and coalesce(cardinality(v_ids), 0) < :MAX_OUTBOX_MOVED then
    next_at := clock + 50;
  end if;
end
$$;
