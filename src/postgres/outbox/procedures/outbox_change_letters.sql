-- Ends replays of dead letters: resolved, or pending again for a reason. Returns how many.
create or replace function outbox_change_letters(p_letters bigint[], p_reason text)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
  v_count bigint;
begin
  perform be_durable();
  if p_reason is null then
    update outbox_dead_letters as l
    set state = 'resolved',
        completed_at = v_clock,
        deadline = null
    where l.letter = any (p_letters)
      and l.state = 'reprocessing';
  else
    update outbox_dead_letters as l
    set state = 'pending',
        failures = l.failures + 1,
        reason = p_reason,
        failed_at = v_clock,
        deadline = null
    where l.letter = any (p_letters)
      and l.state = 'reprocessing';
  end if;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
