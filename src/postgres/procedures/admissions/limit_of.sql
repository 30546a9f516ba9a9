-- The limit of a workflow of any version; no row for none.
--
-- Settings: its caller's.
create or replace function limit_of(p_workflow integer)
  returns table (
    workflow integer,
    concurrency integer,
    rate_count integer,
    rate_ms bigint,
    keyed boolean
  )
  language plpgsql
  stable
as $$
#variable_conflict use_column
begin
  return query
  select l.workflow, l.concurrency, l.rate_count, l.rate_ms, l.keyed
  from workflows as w
  join workflows as l
    on l.name = w.name
    and l.version = ''
  where w.workflow = p_workflow
    and l.keyed is not null;
end
$$;
