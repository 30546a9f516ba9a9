-- Starts instances for a client that owns nothing. Answers as insert_starts() does.
create or replace function start_batch(
  p_iids bigint[],
  p_ids text,
  p_workflows integer[],
  p_wake_ats bigint[],
  p_executions integer[],
  p_turns integer[],
  p_firsts integer[],
  p_counts integer[],
  p_events text,
  p_statuses smallint[],
  p_outputs text,
  out starts text
)
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_clock bigint := now_ms();
begin
  perform require_fresh_snapshots();
  perform be_durable();
  starts := insert_starts(
    null, v_clock, p_iids, p_ids, p_workflows,
    array_fill(false, array[cardinality(p_iids)]),
    p_wake_ats, p_executions, p_turns,
    -- A client does not know the time here.
    array_fill(v_clock, array[cardinality(p_iids)]),
    p_firsts, p_counts, p_events, p_statuses, p_outputs
  );
end
$$;
