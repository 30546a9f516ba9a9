-- Makes all instances of these runtimes claimable now. p_failed says whether that counts as a death.
-- Scans the unfinished instances: the owner is in no index.
--
-- Settings: any plan.
create or replace function free_runs(p_runtimes integer[], p_clock bigint, p_failed boolean)
  returns void
  language plpgsql
  volatile
as $$
begin
  update runs
  set owner = null,
      wake_at = p_clock,
      attempts = least(attempts + p_failed::integer, 32767)
  where owner = any (p_runtimes);
end
$$;
