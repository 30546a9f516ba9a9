-- Starts an instance of a schedule now, whatever its due times. Returns one letter, as insert_starts()
-- does: r also if the schedule was changed.
create or replace function trigger_schedule(
  p_name text,
  p_revision text,
  p_start text,
  p_iid bigint,
  p_id text,
  out letter text
)
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
  v_running bigint[];
begin
  perform require_fresh_snapshots();
  perform be_durable();
  select s.running
  into v_running
  from schedules as s
  where s.name = p_name collate "C"
    and s.revision = p_revision collate "C"
  for update;
  if not found then
    letter := :VERDICT.refused;
    return;
  end if;
  letter := (select s.letters from insert_starts(null, v_clock, p_start) as s);
  -- Sent again, it may have been done before.
  if letter <> :VERDICT.done or p_iid = any (v_running) then
    return;
  end if;
  v_running := unfinished(v_running) || p_iid;
  update schedules
  set running = v_running[greatest(1, cardinality(v_running) - :MAX_SCHEDULE_RUNNING + 1):],
      started = started + 1,
      last_at = v_clock,
      last_id = p_id
  where name = p_name collate "C";
end
$$;
