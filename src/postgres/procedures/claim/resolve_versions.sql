-- For claim(): gives instances that were started without a version the latest version that a live
-- runtime has. Returns those whose code p_runtime does not have.
--
-- Settings: its caller's.
create or replace function resolve_versions(
  p_runtime integer,
  p_iids bigint[],
  p_workflows integer[],
  p_clock bigint
)
  returns bigint[]
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_unnamed integer[];
  v_latest integer[];
  v_passed bigint[];
begin
  select array_agg(named.workflow), array_agg(named.latest)
  into v_unnamed, v_latest
  from (
    select
      u.workflow,
      (
        select v.workflow
        from workflows as v
        where v.name = u.name
          and v.version <> ''
          and v.workflow in (
            select served.workflow
            from runtimes as t
            cross join lateral unnest(t.workflows) as served (workflow)
            where t.state = :RUNTIME.alive
              -- The caller is alive, even if its lease has expired.
              and (t.lease_until > p_clock or t.runtime = p_runtime)
          )
        order by version_rank(v.version) collate "C" desc
        limit 1
      ) as latest
    from (
      select distinct r.workflow
      from unnest(p_iids) as f (iid)
      cross join lateral (
        select r.workflow
        from runs as r
        where r.iid = f.iid
          -- The first claim decides the version.
          and r.epoch = 0
        limit 1
      ) as r
    ) as r
    join workflows as u on u.workflow = r.workflow
    where u.version = ''
  ) as named
  where named.latest is not null;
  if v_unnamed is null then
    return '{}';
  end if;

  with resolved as (
    update runs as r
    set workflow = v_latest[array_position(v_unnamed, r.workflow)]
    where r.iid = any (p_iids)
      and r.workflow = any (v_unnamed)
    returning r.iid, r.workflow
  ),
  noted as (
    update instances as i
    set workflow = r.workflow
    from resolved as r
    where i.iid = r.iid
  )
  select array_agg(r.iid) filter (where r.workflow <> all (p_workflows))
  into v_passed
  from resolved as r;
  return coalesce(v_passed, '{}');
end
$$;
