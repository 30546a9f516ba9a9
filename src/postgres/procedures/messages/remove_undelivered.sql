-- Removes rows that were sent while their instance ended or was removed: the sender looked before that,
-- and committed after. Returns how many of them were messages. Bounded, so that a tick stays short: the
-- rest follows with later ticks.
create or replace function remove_undelivered()
  returns bigint
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
declare
  v_messages bigint := 0;
  v_ended bigint[] := array(
    select m.iid
    from (select distinct iid from inbox where not parked) as m
    where (
      select true
      from instances as i
      where i.iid = m.iid
        and i.status <= :STATUS.running
    ) is null
    limit 1000
  );
begin
  if cardinality(v_ended) > 0 then
    with removed as (
      delete from inbox
      where iid = any (v_ended)
      returning kind
    )
    select count(*)
    into v_messages
    from removed as r
    where r.kind = :KIND.message;
    -- The keys of an ended instance stay until it is removed.
    delete from posted as p
    where p.iid = any (v_ended)
      and (select true from instances as i where i.iid = p.iid) is null;
  end if;
  return v_messages;
end
$$;
