-- Creates an instance from the turns of one execution, without an owner and due now. Returns a letter:
-- d done, now or before, e the id is taken, r the number is taken.
create or replace function import_instance(
  p_iid bigint,
  p_id text,
  p_workflow integer,
  p_labels text,
  p_executions integer[],
  p_turns integer[],
  p_ats bigint[],
  p_firsts integer[],
  p_counts integer[],
  p_events text,
  p_state_count integer,
  p_state_keys text,
  p_state_values text,
  -- The key for the limit of its workflow; null if the caller does not know it.
  p_limit_key text default null,
  out verdict text
)
  language plpgsql
  volatile
  -- A transaction of a user may have locked the id: then the call fails and is retried, and occupies
  -- no connection meanwhile.
  set lock_timeout to '5ms'
as $$
declare
  v_clock bigint := now_ms();
begin
  perform require_fresh_snapshots();
  perform be_durable();
  insert into instances (
    iid, id, workflow, any_version, execution, status, created_at, updated_at, labels
  )
  values (
    p_iid, p_id, p_workflow, (any_versions(array[p_workflow]))[1], p_executions[1], :STATUS.running, v_clock, v_clock,
    nullif(p_labels, '{}')
  )
  on conflict do nothing;
  if not found then
    verdict := coalesce(
      (
        select case when i.id <> p_id then :VERDICT.refused when i.status = :STATUS.unstarted then :VERDICT.exists else :VERDICT.done end
        from instances as i
        where i.iid = p_iid
      ),
      :VERDICT.exists
    );
    return;
  end if;

  if p_labels <> '{}' then
    perform note_labels(v_clock, array[p_iid], array[p_iid], array[p_labels]);
  end if;
  insert into history (iid, execution, turn, epoch, at, first, count, events)
  select p_iid, t.execution, t.turn, 0, t.at, t.first, t.count, t.events
  from unnest(
    p_executions, p_turns, p_ats, p_firsts, p_counts,
    split_texts(p_events, cardinality(p_turns))
  ) as t (execution, turn, at, first, count, events);
  insert into state (iid, key, value)
  select p_iid, s.key, s.value
  from unnest(
    split_texts(p_state_keys, p_state_count), split_texts(p_state_values, p_state_count)
  ) as s (key, value);
  insert into runs (iid, workflow, epoch, wake_at, admitted)
  values (p_iid, p_workflow, 0, v_clock, (select false from limit_of(p_workflow)));
  perform line_up(v_clock, array[p_iid], array[p_limit_key]);
  verdict := :VERDICT.done;
end
$$;
