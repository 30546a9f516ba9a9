-- Renews the lease of a runtime, buries others whose lease ended, and tells all that a lost hint
-- would have told.
create or replace function tick(
  p_runtime integer,
  p_lease_ms bigint,
  p_workflows integer[],
  out state text,
  out clock bigint,
  out server text,
  out mail bigint[],
  out owned bigint,
  out claimable boolean,
  out next_due bigint
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
begin
  perform require_fresh_snapshots();
  clock := v_clock;
  server := server_identity();

  update runtimes
  set lease_until = v_clock + p_lease_ms
  where runtime = p_runtime
    and state = 1;
  if not found then
    state := 'dead';
    return;
  end if;
  state := 'ok';
  perform bury_expired(v_clock);
  perform sweep(v_clock);

  mail := own_mail(p_runtime);
  claimable := is_claimable(p_workflows, v_clock);
  next_due := (
    select min(next.wake_at)
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select r.wake_at
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at > v_clock
      order by r.wake_at
      limit 1
    ) as next
  );
  owned := (select count(*) from runs as r where r.owner = p_runtime);
end
$$;
