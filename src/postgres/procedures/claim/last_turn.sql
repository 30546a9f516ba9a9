-- The last turn of an instance: one index lookup, whatever the statistics of the table.
create or replace function last_turn(
  p_iid bigint,
  out execution integer,
  out turn integer,
  out at bigint,
  -- The number that its next event gets.
  out next_event integer
)
  language plpgsql
  stable
  set enable_bitmapscan to off
  set enable_sort to off
as $$
#variable_conflict use_column
begin
  select h.execution, h.turn, h.at, h.first + h.count
  into execution, turn, at, next_event
  from history as h
  where h.iid = p_iid
  order by h.iid desc, h.execution desc, h.turn desc
  limit 1;
end
$$;
