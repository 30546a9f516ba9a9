-- Frees tasks of runtimes that have ended: those that were locked at that time. Counts deaths as
-- reclaim_dead() does.
create or replace function free_forgotten_tasks()
  returns void
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_since bigint := server_since();
  v_gone integer[];
  v_dead integer[];
  v_cut_off integer[];
begin
  with recursive task_owners as (
    -- One index lookup per owner, not per task.
    select min(t.held_by) as runtime
    from tasks as t
    where t.held_by is not null
    union all
    select (
      select min(t.held_by)
      from tasks as t
      where t.held_by is not null
        and t.held_by > h.runtime
    )
    from task_owners as h
    where h.runtime is not null
  )
  select
    array_agg(h.runtime) filter (where r.state is distinct from :RUNTIME.dead),
    array_agg(h.runtime) filter (where r.state = :RUNTIME.dead and r.lease_until > v_since),
    array_agg(h.runtime) filter (where r.state = :RUNTIME.dead and r.lease_until <= v_since)
  into v_gone, v_dead, v_cut_off
  from task_owners as h
  left join runtimes as r on r.runtime = h.runtime
  where h.runtime is not null
    and r.state is distinct from :RUNTIME.alive;

  if v_gone is not null then
    perform free_tasks(v_gone, false);
  end if;
  if v_dead is not null then
    perform free_tasks(v_dead, true);
  end if;
  if v_cut_off is not null then
    perform free_tasks(v_cut_off, null);
  end if;
end
$$;
