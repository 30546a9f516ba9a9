-- Puts results into inboxes. Only inserts: an instance is claimable because its inbox has rows, so
-- there is no flag to set and no row to lock. Drops a second result for a command, a result for an
-- instance that has ended, and one whose sender has seen a turn that history does not have: a
-- failover lost that turn.
create or replace function send(
  p_iids bigint[],
  p_kinds smallint[],
  p_executions integer[],
  p_commands integer[],
  p_payloads text,
  -- The last turns that the senders have seen, and their times; a null is not compared.
  p_turns integer[] default null,
  p_ats bigint[] default null
)
  returns void
  language plpgsql
  volatile
as $$
begin
  perform be_durable();
  insert into inbox (iid, kind, execution, command, payload)
  select g.iid, g.kind, g.execution, g.command, g.payload
  from unnest(
    p_iids, p_kinds, p_executions, p_commands, split_texts(p_payloads, cardinality(p_iids)),
    p_turns, p_ats
  ) with ordinality as g (iid, kind, execution, command, payload, turn, at, place)
  join runs as r on r.iid = g.iid
  where g.turn is null
    or g.at = (
      select h.at
      from history as h
      where h.iid = g.iid
        and h.execution = g.execution
        and h.turn = g.turn
    )
  -- By instance, so that two senders meet in one order; within one, as they were sent.
  order by g.iid, g.place
  on conflict do nothing;
end
$$;
