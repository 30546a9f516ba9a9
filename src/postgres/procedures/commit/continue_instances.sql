-- Begins the next execution of the instances in p_done. p_continued are lists, in the order of the
-- columns below. An instance that its owner does not keep is released, due now.
create or replace function continue_instances(p_clock bigint, p_done bigint[], p_continued text)
  returns void
  language plpgsql
  volatile
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_lists text[] := split_lists(p_continued, 9);
  v_iids bigint[] := v_lists[1];
  v_with_tasks bigint[];
  v_executions integer[];
begin
  with going_on as materialized (
    select c.*, r.epoch, r.has_tasks
    from unnest(
      v_iids, v_lists[2]::boolean[], v_lists[3]::integer[], v_lists[4]::integer[],
      v_lists[5]::integer[], v_lists[6]::bigint[], v_lists[7]::integer[], v_lists[8]::integer[],
      split_texts(v_lists[9], cardinality(v_iids))
    ) as c (iid, kept, workflow, execution, turn, at, first, count, events)
    join unnest(p_done) as d (iid) on d.iid = c.iid
    join runs as r on r.iid = c.iid
  ),
  first_turns as (
    insert into history (iid, execution, turn, epoch, at, first, count, events)
    select iid, execution, turn, epoch, at, first, count, events
    from going_on
    order by iid
  ),
  run as (
    update runs as r
    set workflow = g.workflow,
        owner = case when g.kept then r.owner end,
        wake_at = case when not g.kept then p_clock end,
        attempts = 0,
        doing = null
    from going_on as g
    where r.iid = g.iid
  ),
  -- Results for earlier executions.
  late_results as (
    delete from inbox as i
    where i.iid = any (array(select g.iid from going_on as g))
      and i.command is not null
      and i.execution < (select g.execution from going_on as g where g.iid = i.iid limit 1)
  ),
  moved_on as (
    update instances as i
    set execution = g.execution,
        workflow = g.workflow
    from going_on as g
    where i.iid = g.iid
  )
  select array_agg(g.iid), array_agg(g.execution)
  into v_with_tasks, v_executions
  from going_on as g
  where g.has_tasks;

  if v_with_tasks is not null then
    perform remove_tasks(v_with_tasks, v_executions);
  end if;
  -- Most schemas have no retention.
  if (select true from workflows as w where w.retention_ms is not null limit 1) then
    perform note_continued(p_clock, p_done, v_iids, v_lists[4]::integer[], v_lists[3]::integer[]);
  end if;
end
$$;
