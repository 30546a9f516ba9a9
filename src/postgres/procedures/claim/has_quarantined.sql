-- Whether a runtime owns a quarantined instance or task: then it gets no other one. claim() records the
-- instance in runtimes.careful.
create or replace function has_quarantined(p_runtime integer)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return coalesce(
    (
      select true
      from tasks as t
      where t.held_by = p_runtime
        and t.deaths >= :QUARANTINE_DEATHS
      limit 1
    ),
    (
      select r.owner = p_runtime and :QUARANTINED
      from runs as r
      where r.iid = (select t.careful from runtimes as t where t.runtime = p_runtime)
    ),
    false
  );
end
$$;
