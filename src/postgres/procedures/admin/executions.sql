-- The executions of an instance that have a history, in order.
create or replace function executions(p_iid bigint)
  returns table (
    execution integer,
    started_at bigint,
    last_turn_at bigint,
    turns bigint,
    events bigint,
    bytes bigint
  )
  language plpgsql
  stable
  set enable_bitmapscan to off
as $$
#variable_conflict use_column
begin
  return query
  select
    h.execution, min(h.at), max(h.at), count(*), sum(h.count)::bigint,
    sum(octet_length(h.events))::bigint
  from history as h
  where h.iid = p_iid
  group by h.execution
  order by h.execution;
end
$$;
