-- What is stored for an instance besides its histories.
create or replace function usage(
  p_iid bigint,
  out state_keys bigint,
  out state_bytes bigint,
  out messages bigint,
  out message_bytes bigint,
  out tasks bigint
)
  language plpgsql
  stable
  set enable_bitmapscan to off
as $$
#variable_conflict use_column
begin
  select count(*), coalesce(sum(octet_length(s.value)), 0)
  into state_keys, state_bytes
  from state as s
  where s.iid = p_iid;
  select count(*), coalesce(sum(octet_length(m.payload)), 0)
  into messages, message_bytes
  from inbox as m
  where m.iid = p_iid
    and m.kind > :KIND.failed
    and m.kind = :KIND.message;
  select count(*)
  into tasks
  from tasks as t
  where t.iid = p_iid;
end
$$;
