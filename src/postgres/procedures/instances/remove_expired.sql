-- Removes instances whose retention is over, with all their rows, and the histories of executions that
-- were followed by others as long ago: those that expired first, at most p_limit. Returns how many ends were examined, and when the last of them expired.
--
-- A child is kept while the execution that started it runs: after a takeover the parent may start
-- it again, and has to find it. It is examined again after another retention period.
--
-- p_since skips those that expired before it, which an earlier call has removed. While something
-- holds vacuum back, each call would otherwise read past all rows that were ever removed.
create or replace function remove_expired(
  p_since bigint,
  p_limit integer,
  out looked_at integer,
  out reached bigint
)
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_clock bigint := now_ms();
  v_iids bigint[];
  v_kept bigint[];
  v_continued bigint[];
  v_executions integer[];
  v_is_noting boolean;
begin
  perform require_fresh_snapshots();
  -- A removal that is lost in a crash is repeated.
  perform set_config('synchronous_commit', 'off', true);
  v_is_noting := note_earlier(p_limit);
  with expired as materialized (
    select e.workflow, e.at, e.iid, e.execution, e.at + w.retention_ms as over_at
    from workflows as w
    cross join lateral (
      select e.workflow, e.at, e.iid, e.execution
      from ended as e
      where e.workflow = w.workflow
        and e.at >= p_since - w.retention_ms
        and e.at < v_clock - w.retention_ms
      order by e.at
      limit p_limit
      -- Each runtime takes different ones.
      for update skip locked
    ) as e
    where w.retention_ms is not null
    order by over_at
    limit p_limit
  ),
  noted as (
    delete from ended as n
    using expired as e
    where n.workflow = e.workflow
      and n.at = e.at
      and n.iid = e.iid
  )
  select
    array_agg(e.iid) filter (where e.execution is null),
    array_agg(e.iid) filter (where e.execution is not null),
    array_agg(e.execution) filter (where e.execution is not null),
    count(*), max(e.over_at)
  into v_iids, v_continued, v_executions, looked_at, reached
  from expired as e;
  if v_is_noting then
    -- What was noted just now may have expired long ago: the next call begins there.
    looked_at := p_limit;
    reached := 0;
  end if;

  if v_continued is not null then
    delete from history as h
    using unnest(v_continued, v_executions) as c (iid, execution)
    where h.iid = c.iid
      and h.execution <= c.execution
      and h.execution < (select i.execution from instances as i where i.iid = c.iid);
  end if;
  if v_iids is null then
    return;
  end if;

  v_kept := array(
    select child.iid
    from unnest(v_iids) as e (iid)
    cross join lateral (
      select i.iid, i.parent_iid, i.parent_execution
      from instances as i
      where i.iid = e.iid
        and i.parent_iid is not null
      limit 1
    ) as child
    cross join lateral (
      select
      from instances as p
      where p.iid = child.parent_iid
        and p.execution = child.parent_execution
        and p.status = :STATUS.running
      limit 1
    ) as parent
  );
  if cardinality(v_kept) > 0 then
    perform note_ended(v_clock, v_kept);
    v_iids := array(select unnest(v_iids) except select unnest(v_kept));
  end if;

  perform remove_rows(array(
    select i.iid
    from unnest(v_iids) as e (iid)
    cross join lateral (
      select i.iid
      from instances as i
      where i.iid = e.iid
        and i.status > :STATUS.running
      limit 1
    ) as i
  ));
end
$$;
