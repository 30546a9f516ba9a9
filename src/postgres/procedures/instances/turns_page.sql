-- Turns of one execution that have events behind the one of a number, in order.
create or replace function turns_page(
  p_iid bigint,
  p_execution integer,
  p_after integer,
  p_limit integer
)
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
    and h.first + h.count > p_after + 1
  order by h.turn
  limit p_limit;
end
$$;
