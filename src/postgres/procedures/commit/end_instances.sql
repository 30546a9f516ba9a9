-- Ends the instances of p_iids that are in p_done: removes their inbox and tasks, keeps their
-- history and state, and sends the results to their parents. Message keys stay until the instances
-- are removed: a sender that missed the answer may send its message again. Returns other instances that are
-- due because of it: those ended left the limit of their workflow.
--
-- Settings: its caller's.
create or replace function end_instances(
  p_clock bigint,
  p_done bigint[],
  p_iids bigint[],
  p_statuses smallint[],
  p_outputs text
)
  returns bigint[]
  language plpgsql
  volatile
as $$
declare
  v_outputs text[] := split_texts(p_outputs, cardinality(p_iids));
  v_ended bigint[];
  v_children bigint[];
  v_with_tasks bigint[];
  v_limited bigint[];
begin
  with ended as materialized (
    select e.iid, e.place
    from unnest(p_iids) with ordinality as e (iid, place)
    where e.iid = any (p_done)
  ),
  run as (
    delete from runs as r
    where r.iid = any (array(select e.iid from ended as e))
    returning r.iid, r.has_tasks, r.admitted
  ),
  undelivered as (
    delete from inbox as i
    where i.iid = any (array(select e.iid from ended as e))
  ),
  finished as (
    update instances as i
    set status = p_statuses[e.place],
        output = v_outputs[e.place],
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
    (select array_agg(r.iid) from run as r where r.has_tasks),
    (select array_agg(r.iid) from run as r where r.admitted is not null)
  into v_ended, v_children, v_with_tasks, v_limited;

  if v_with_tasks is not null then
    perform remove_tasks(v_with_tasks, null);
  end if;

  if v_children is not null then
    perform tell_parents(v_children);
  end if;
  perform note_ended(p_clock, v_ended);
  if :STATUS.completed < any (p_statuses) then
    perform note_unsuccessful(v_ended);
  end if;
  -- Last: it locks lines, and a transaction that has these locked must wait for nothing else.
  return case when v_limited is null then '{}' else leave_lines(v_limited, p_clock) end;
end
$$;
