-- The line that a task stands in. Tasks that one runtime may take and another may not, or not now,
-- stand in lines of their own: by session, by limit, and those that two runtimes died with. So who
-- looks for work passes by a line that is closed, however long it is.
--
-- Two that share a line by accident may hold each other up for a while; what may be taken is
-- decided by the rows.
--
-- Settings: any plan.
create or replace function task_lane(p_session text, p_limit_key text, p_deaths integer)
  returns bigint
  language plpgsql
  immutable
as $$
begin
  if p_session is null and p_limit_key is null and p_deaths < :QUARANTINE_DEATHS then
    return 0;
  end if;
  return 9223372036854775807 & hashtextextended(
    concat_ws(e'\x01', p_deaths >= :QUARANTINE_DEATHS, 's' || p_session, 'l' || p_limit_key),
    0
  );
end
$$;
