-- Records that executions were followed by others, of workflows that have a retention, for
-- remove_expired(). p_executions are the numbers of the next ones; only those of p_done count.
--
-- Settings: its caller's.
create or replace function note_continued(
  p_clock bigint,
  p_done bigint[],
  p_iids bigint[],
  p_executions integer[],
  p_workflows integer[]
)
  returns void
  language plpgsql
  volatile
as $$
begin
  insert into ended (at, iid, workflow, execution)
  select p_clock, c.iid, c.workflow, c.execution - 1
  from unnest(p_iids, p_executions, p_workflows) as c (iid, execution, workflow)
  join unnest(p_done) as d (iid) on d.iid = c.iid
  where (select w.retention_ms from workflows as w where w.workflow = c.workflow) is not null
  order by c.iid
  on conflict (workflow, at, iid) do update
  set execution = excluded.execution;
end
$$;
