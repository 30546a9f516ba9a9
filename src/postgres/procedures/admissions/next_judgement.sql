-- When the next line of these workflows is judged, possibly in the past; null for never.
--
-- Settings: its caller's.
create or replace function next_judgement(p_workflows integer[], p_after bigint)
  returns bigint
  language plpgsql
  volatile
as $$
begin
  if not has_unadmitted() then
    return null;
  end if;
  return (
    select min(next.wake_at)
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select r.wake_at
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at > p_after
        and :UNADMITTED
      order by r.wake_at
      limit 1
    ) as next
  );
end
$$;
