-- When the next instance of these workflows is due, or has its limit judged: after a moment, possibly in
-- the past; null for never.
--
-- Settings: its caller's.
create or replace function next_wake(p_workflows integer[], p_after bigint default -1)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_ranked integer[] := p_workflows;
  v_ranks integer[] := array_fill(0, array[cardinality(p_workflows)]);
begin
  if (select true from runs as r where r.priority is not null and r.wake_at is not null and :ORDINARY limit 1) then
    select array_agg(k.workflow), array_agg(k.rank)
    into v_ranked, v_ranks
    from ranks_of(p_workflows) as k;
  end if;
  return least(
    (
      select min(next.wake_at)
      from unnest(v_ranked, v_ranks) as w (workflow, rank)
      cross join lateral (
        select r.wake_at
        from runs as r
        where r.workflow = w.workflow
          and :RANK = w.rank
          and r.wake_at > p_after
          and :ORDINARY
        order by r.wake_at
        limit 1
      ) as next
    ),
    next_judgement(p_workflows, p_after)
  );
end
$$;
