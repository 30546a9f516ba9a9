-- start_batch() with a lock timeout: if another transaction has locked one of the ids, it fails with
-- 55P03 (lock_not_available), without any effect. Not immediately, since two starts of the same id at
-- once need only a moment.
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
