-- Records what ended, or continued as new, before its workflow had a retention: for remove_expired(). Goes
-- through the instances of one workflow by their age, p_limit at a time, for all of its versions that have
-- got a retention. Returns whether there is more.
create or replace function note_earlier(p_limit integer)
  returns boolean
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_any_version integer;
  v_workflows integer[];
  v_at bigint;
  v_iid bigint;
  v_iids bigint[];
  v_last_at bigint;
  v_last_iid bigint;
begin
  -- Each runtime that is busy with it keeps the others from it.
  v_any_version := (
    select named.workflow
    from workflows as w
    join workflows as named on named.name = w.name and named.version = ''
    where w.noted_at is not null
    order by w.workflow
    limit 1
    for update of w skip locked
  );
  if v_any_version is null then
    return false;
  end if;
  v_workflows := array(
    select w.workflow
    from workflows as named
    join workflows as w on w.name = named.name
    where named.workflow = v_any_version
      and w.noted_at is not null
    order by w.workflow
    for update of w skip locked
  );
  select w.noted_at, w.noted_iid
  into v_at, v_iid
  from workflows as w
  where w.workflow = any (v_workflows)
  order by w.noted_at, w.noted_iid
  limit 1;
  v_iids := array(
    select i.iid
    from instances as i
    where i.any_version = v_any_version
      and (i.created_at, i.iid) > (v_at, v_iid)
    order by i.created_at, i.iid
    limit p_limit
  );
  insert into ended (at, iid, workflow, execution)
  select
    coalesce(i.finished_at, (
      select h.at
      from history as h
      where h.iid = i.iid
        and h.execution = i.execution - 1
      order by h.turn desc
      limit 1
    )),
    i.iid, i.workflow,
    case when i.finished_at is null then i.execution - 1 end
  from unnest(v_iids) as e (iid)
  cross join lateral (
    select i.iid, i.workflow, i.execution, i.finished_at, i.status
    from instances as i
    where i.iid = e.iid
    limit 1
  ) as i
  where i.workflow = any (v_workflows)
    and (
      i.status > :STATUS.running
      or exists (
        select
        from history as h
        where h.iid = i.iid
          and h.execution = i.execution - 1
      )
    )
  on conflict do nothing;

  if cardinality(v_iids) < p_limit then
    update workflows
    set noted_at = null,
        noted_iid = null
    where workflow = any (v_workflows);
    -- What was noted in this call is removed by the next one.
    return true;
  end if;
  select i.created_at, i.iid
  into v_last_at, v_last_iid
  from instances as i
  where i.iid = v_iids[p_limit];
  update workflows
  set noted_at = v_last_at,
      noted_iid = v_last_iid
  where workflow = any (v_workflows)
    and (noted_at, noted_iid) < (v_last_at, v_last_iid);
  return true;
end
$$;
