-- Renews the lease of a runtime that delivers messages, marks others as dead whose lease expired, and finds
-- what a lost hint would have announced: see outbox_look(). The first row has the state and no partition, and
-- when the first lease of another runtime ends. A lease that has ended counts as one that ends in a second:
-- its runtime is not dead yet because a transaction of it is still open.
--
-- Settings: any plan.
create or replace function outbox_tick(p_runtime integer, p_lease_ms bigint)
  returns table (
    is_alive boolean,
    clock bigint,
    delayed_at bigint,
    lease_ends_at bigint,
    partition integer,
    due_at bigint,
    is_blocked boolean
  )
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_is_alive boolean;
  v_clock bigint;
begin
  select r.is_alive, r.clock into v_is_alive, v_clock from renew_lease(p_runtime, p_lease_ms) as r;
  perform reclaim_dead(v_clock, p_runtime);
  return query
  select
    v_is_alive, v_clock,
    (select d.due_at from outbox_delayed as d order by d.due_at, d.id limit 1),
    (
      select min(greatest(r.lease_until, v_clock + 1000))
      from runtimes as r
      where r.state = :RUNTIME.alive
        and r.runtime <> p_runtime
    ),
    null::integer, null::bigint, null::boolean;
  return query
  select v_is_alive, l.clock, null::bigint, null::bigint, l.partition, l.due_at, l.is_blocked
  from outbox_look(null) as l
  where l.partition is not null;
end
$$;
