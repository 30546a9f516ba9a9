-- A few unowned instances of these workflows that wait for activities other than p_named. A runtime
-- names the activities that were registered, and those that its workflows have called so far; its
-- code may contain others.
--
-- Delayed tasks become ready, and tasks are taken from an owner without a heartbeat, only by a
-- runtime that names their activity: so such tasks are included here.
create or replace function stranded(p_workflows integer[], p_named text[])
  returns bigint[]
  language plpgsql
  stable
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_sort to off
as $$
#variable_conflict use_column
declare
  v_clock constant bigint := now_ms();
  v_activity text := '';
  v_found bigint[] := '{}';
begin
  loop
    -- One index lookup per activity, not per task.
    v_activity := least(
      (
        select t.activity
        from tasks as t
        where t.activity > v_activity collate "C"
          and t.held_by is null
          and t.visible_at is null
          and t.lane is not null
        order by t.activity
        limit 1
      ) collate "C",
      (
        select t.activity
        from tasks as t
        where t.activity > v_activity collate "C"
          and t.visible_at is not null
        order by t.activity
        limit 1
      ) collate "C",
      (
        select t.activity
        from tasks as t
        where t.activity > v_activity collate "C"
          and t.beat_until is not null
        order by t.activity
        limit 1
      ) collate "C"
    );
    exit when v_activity is null;
    continue when v_activity = any (p_named);
    v_found := v_found || array(
      select distinct waiting.iid
      from (
        (
          select t.iid
          from tasks as t
          where t.activity = v_activity collate "C"
            and t.held_by is null
            and t.visible_at is null
            and t.lane is not null
          limit 1000
        )
        union all
        (
          select t.iid
          from tasks as t
          where t.activity = v_activity collate "C"
            and t.visible_at <= v_clock
          limit 1000
        )
        union all
        (
          select t.iid
          from tasks as t
          where t.activity = v_activity collate "C"
            and t.beat_until <= v_clock
          limit 1000
        )
      ) as waiting
      cross join lateral (
        select
        from runs as r
        where r.iid = waiting.iid
          and :UNOWNED
          and r.workflow = any (p_workflows)
        limit 1
      ) as unowned
      limit :MAX_STRANDED
    );
    exit when cardinality(v_found) >= :MAX_STRANDED;
  end loop;
  return v_found;
end
$$;
