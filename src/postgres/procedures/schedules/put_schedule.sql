-- Creates a schedule, or changes the one with this name. Returns what it did: created, changed or
-- unchanged. With the same timing, the next due time stays.
create or replace function put_schedule(
  p_name text,
  p_revision text,
  p_workflow integer,
  p_timing text,
  p_template text,
  p_next_at bigint,
  p_anchor bigint,
  out outcome text
)
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
begin
  perform require_fresh_snapshots();
  perform be_durable();
  insert into schedules (
    name, revision, workflow, timing, template, anchor, next_at, wake_at, set_at, created_at,
    updated_at
  )
  values (
    p_name, p_revision, p_workflow, p_timing, p_template, p_anchor, p_next_at, p_next_at, p_anchor,
    v_clock, v_clock
  )
  on conflict do nothing;
  if found then
    outcome := 'created';
    return;
  end if;
  update schedules as s
  set revision = p_revision,
      workflow = p_workflow,
      timing = p_timing,
      template = p_template,
      anchor = case when s.timing = p_timing then s.anchor else p_anchor end,
      next_at = case when s.timing = p_timing then s.next_at else p_next_at end,
      wake_at = case
        when s.paused then null
        when s.timing = p_timing then s.next_at
        else p_next_at
      end,
      set_at = case when s.timing = p_timing then s.set_at else p_anchor end,
      updated_at = v_clock,
      error = null,
      error_at = null
  where s.name = p_name collate "C"
    and (s.timing <> p_timing or s.template <> p_template or s.workflow <> p_workflow);
  outcome := case when found then 'changed' else 'unchanged' end;
end
$$;
