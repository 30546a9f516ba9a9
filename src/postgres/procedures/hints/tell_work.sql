-- Notifies of instances that have messages (p_due false) or are due: the owner of each or, without
-- one, a live runtime that has its workflow. Never notifies the sender itself; only if it has no
-- room, another runtime gets what it could run itself.
--
-- Unowned instances are distributed in small batches, so that many starts at once wake several
-- runtimes.
create or replace function tell_work(
  p_iids bigint[],
  p_due boolean,
  p_teller integer,
  p_has_room boolean
)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
begin
  perform pg_notify(
    hint_channel('r' || told.runtime),
    case
      -- The server takes less than 8000 bytes. None means: look everywhere.
      when length(told.iids) > 7000 then '{"kind":"work","iids":[],"at":0}'
      else format('{"kind":"work","iids":[%s],"at":%s}', told.iids, told.at)
    end
  )
  from (
    with work as materialized (
      select
        r.iid, r.owner, r.workflow,
        case when p_due then coalesce(r.wake_at, 0) else 0 end as at,
        (row_number() over (partition by r.workflow, r.owner) - 1) / 16 as lot
      from unnest(p_iids) as w (iid)
      -- The limit keeps the order of the join: from the few that are given to the runs.
      cross join lateral (
        select r.iid, r.owner, r.workflow, r.wake_at
        from runs as r
        where r.iid = w.iid
          and not r.held
        limit 1
      ) as r
    ),
    able as materialized (
      select
        w.workflow,
        array_agg(t.runtime order by t.idle desc, random())
          filter (where t.runtime <> p_teller) as runtimes
      from (select distinct workflow from work where owner is null) as w
      join runtimes as t
        on t.state = :RUNTIME.alive
        and t.lease_until > v_clock
        and w.workflow = any (t.workflows)
      group by w.workflow
      having not (p_has_room and bool_or(t.runtime = p_teller))
    )
    select dealt.runtime, string_agg(dealt.iid::text, ',') as iids, min(dealt.at) as at
    from (
      select
        w.iid, w.at,
        coalesce(w.owner, a.runtimes[1 + w.lot % cardinality(a.runtimes)]) as runtime
      from work as w
      left join able as a
        on a.workflow = w.workflow
        and w.owner is null
    ) as dealt
    where dealt.runtime <> p_teller
    group by dealt.runtime
  ) as told;
end
$$;
