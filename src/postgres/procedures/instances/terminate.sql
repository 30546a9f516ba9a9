-- Ends unfinished instances at once, whatever their owner. Returns one letter for each, t or f: whether
-- it was unfinished. And what to announce: instances that may have new messages because of it, and
-- whether any of those that ended had tasks.
create or replace function terminate(
  p_ids text,
  p_outputs text,
  p_events text,
  p_count integer,
  out terminated text,
  out mail bigint[],
  out had_tasks boolean
)
  language plpgsql
  volatile
  -- A transaction of a user may have locked one of them: then the call fails and is retried, and
  -- occupies no connection meanwhile.
  set lock_timeout to '30ms'
as $$
declare
  v_clock bigint := now_ms();
  v_iids bigint[] := iids_of(p_ids, p_count);
  v_ended bigint[];
  v_woken bigint[];
begin
  perform require_fresh_snapshots();
  perform be_durable();
  -- The second mention of an id finds the instance ended.
  v_iids := array(
    select case when row_number() over (partition by g.iid order by g.place) = 1 then g.iid end
    from unnest(v_iids) with ordinality as g (iid, place)
    order by g.place
  );
  perform lock_owners(v_iids);

  with ended as (
    insert into history (iid, execution, turn, epoch, at, first, count, events)
    select
      r.iid, last.execution, last.turn + 1, r.epoch + 1, greatest(v_clock, last.at),
      last.next_event, 1, g.events
    from unnest(v_iids, split_texts(p_events, p_count)) as g (iid, events)
    join runs as r on r.iid = g.iid
    cross join lateral last_turn(r.iid) as last
    order by r.iid
    returning iid
  )
  select array_agg(e.iid)
  into v_ended
  from ended as e;
  terminated := flags(v_iids, v_ended);
  mail := '{}';
  had_tasks := coalesce(
    (select true from runs as r where r.iid = any (v_ended) and r.has_tasks limit 1),
    false
  );

  if v_ended is not null then
    v_woken := end_instances(
      v_clock, v_ended, v_iids, array_fill(:STATUS.terminated::smallint, array[p_count]), p_outputs
    );
    if cardinality(v_woken) > 0 then
      perform tell_within(v_woken, true);
    end if;
    perform close_children(
      v_ended,
      array_fill(null::integer, array[cardinality(v_ended)]),
      array_fill(null::integer, array[cardinality(v_ended)])
    );
    mail := array(
      select i.parent_iid
      from instances as i
      where i.iid = any (v_ended)
        and i.parent_iid is not null
        and i.on_close < :ON_CLOSE.independent
    ) || array(
      select child.iid
      from instances as child
      where child.parent_iid = any (v_ended)
        and child.status = :STATUS.running
        and child.on_close < :ON_CLOSE.abandon
    );
  end if;
end
$$;
