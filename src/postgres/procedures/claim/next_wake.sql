-- When the next instance of these workflows is due, possibly in the past; null for never.
--
-- Settings: its caller's.
create or replace function next_wake(p_workflows integer[])
  returns bigint
  language plpgsql
  volatile
as $$
begin
  return (
    select min(next.wake_at)
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select r.wake_at
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at is not null
        and :ORDINARY
      order by r.wake_at
      limit 1
    ) as next
  );
end
$$;
