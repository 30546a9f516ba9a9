-- Ends instances, those of p_iids that are also in p_done: what waits for them goes, their history
-- and state stay, and their parents are told.
create or replace function end_instances(
  p_clock bigint,
  p_done bigint[],
  p_iids bigint[],
  p_statuses smallint[],
  p_outputs text
)
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_ended bigint[];
  v_children bigint[];
  v_with_tasks bigint[];
begin
  with ended as materialized (
    select e.iid, e.status, e.output
    from unnest(
      p_iids, p_statuses, split_texts(p_outputs, cardinality(p_iids))
    ) as e (iid, status, output)
    join unnest(p_done) as d (iid) on d.iid = e.iid
  ),
  run as (
    delete from runs as r
    using ended as e
    where r.iid = e.iid
    returning r.iid, r.has_tasks
  ),
  undelivered as (
    delete from inbox as i
    using ended as e
    where i.iid = e.iid
  ),
  forgotten as (
    delete from posted as p
    using ended as e
    where p.iid = e.iid
  ),
  finished as (
    update instances as i
    set status = e.status,
        output = e.output,
        report = null,
        updated_at = p_clock,
        finished_at = p_clock
    from ended as e
    where i.iid = e.iid
    returning i.iid, i.parent_iid
  )
  select
    (select array_agg(f.iid) from finished as f),
    (select array_agg(f.iid) from finished as f where f.parent_iid is not null),
    (select array_agg(r.iid) from run as r where r.has_tasks)
  into v_ended, v_children, v_with_tasks;

  if v_with_tasks is not null then
    perform remove_tasks(v_with_tasks, null);
  end if;

  if v_children is not null then
    perform tell_parents(v_children);
  end if;
  perform note_ended(p_clock, v_ended);
end
$$;
