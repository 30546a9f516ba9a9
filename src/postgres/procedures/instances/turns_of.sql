-- The turns of one execution, in order.
create or replace function turns_of(p_iid bigint, p_execution integer)
  returns table (
    execution integer,
    number integer,
    at bigint,
    first integer,
    count integer,
    text text
  )
  language plpgsql
  stable
as $$
#variable_conflict use_column
begin
  return query
  select h.execution, h.turn, h.at, h.first, h.count, h.events
  from history as h
  where h.iid = p_iid
    and h.execution = p_execution
  order by h.turn;
end
$$;
