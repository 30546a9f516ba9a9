-- Has a line judged again at a time, by giving it to the first that waits in it; returns that one, or null
-- if there is none, or if it is due by then anyway.
create or replace function wake_line(p_workflow integer, p_limit_key text, p_at bigint)
  returns bigint
  language plpgsql
  volatile
  set enable_bitmapscan to off
as $$
#variable_conflict use_column
declare
  v_first bigint;
begin
  v_first := (
    select r.iid
    from (
      select a.iid
      from admissions as a
      where a.workflow = p_workflow
        and a.limit_key = p_limit_key collate "C"
        and a.state = :ADMISSION.waiting
      order by a.priority desc, a.since, a.iid
      -- More than one, because another transaction may have locked the first.
      limit :MAX_SKIPPED
    ) as a
    cross join lateral (
      select r.iid
      from runs as r
      where r.iid = a.iid
        and :UNADMITTED
        and not r.held
      limit 1
      for update skip locked
    ) as r
    limit 1
  );
  update runs
  set wake_at = p_at
  where iid = v_first
    and (wake_at is null or wake_at > p_at);
  if found then
    return v_first;
  end if;
  return null;
end
$$;
