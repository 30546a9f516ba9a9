-- Sets the next due time of a schedule, and whether it is paused, unless it was changed or fired since
-- its caller read it.
create or replace function move_schedule(
  p_name text,
  p_revision text,
  p_due bigint,
  p_next_at bigint,
  p_set_at bigint,
  p_paused boolean,
  out moved boolean
)
  language plpgsql
  volatile
as $$
begin
  perform require_fresh_snapshots();
  perform be_durable();
  update schedules
  set next_at = p_next_at,
      paused = p_paused,
      wake_at = case when not p_paused then p_next_at end,
      set_at = p_set_at
  where name = p_name collate "C"
    and revision = p_revision collate "C"
    and next_at = p_due;
  moved := found;
end
$$;
