-- start_batch() for a client that waits for nobody: another transaction that has locked one of the
-- ids makes it fail with 55P03 (lock_not_available), and nothing is done. Not immediately, since two
-- who start the same id at once are done with it in a moment.
--
-- Settings: any plan.
create or replace function start_nowait(
  p_starts text,
  p_effects text,
  p_tasks text,
  out starts text
)
  language plpgsql
  volatile
  set lock_timeout to '5ms'
as $$
begin
  starts := start_batch(p_starts, p_effects, p_tasks);
end
$$;
