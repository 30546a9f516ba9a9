-- wake_line() for several, now.
--
-- Settings: its caller's.
create or replace function wake_lines(p_workflows integer[], p_limit_keys text[], p_clock bigint)
  returns bigint[]
  language plpgsql
  volatile
as $$
begin
  return array(
    select first.iid
    from (
      select wake_line(l.workflow, l.limit_key, p_clock) as iid
      from unnest(p_workflows, p_limit_keys) as l (workflow, limit_key)
    ) as first
    where first.iid is not null
  );
end
$$;
