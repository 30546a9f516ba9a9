-- The lane of a task. Tasks that not every runtime may take now have lanes of their own: by session, by
-- limit, and quarantined ones. So a claim skips a closed lane, however many tasks wait in it.
--
-- Lanes are hashes. Two groups that share one may delay each other for a while; whether a task may be
-- taken is decided by its row.
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
