-- Puts messages and requests to cancel or terminate into inboxes, by ids of instances. A plain
-- message to a running instance that reads it soon is one insert. For all others, post_any() may also
-- write to instances, posted and runs. A message for an unknown id creates an unstarted instance under
-- the number that came with it; a start of that id finds the row, since the id is unique. At most 10,000
-- messages wait for a start.
--
-- Returns one letter each, in the order given (s sent, d duplicate, f full, e ended, u unknown), and the
-- numbers and owners of the instances.
create or replace function post(
  p_ids text,
  p_kinds smallint[],
  p_names text,
  p_payloads text,
  p_reply_tos text,
  p_keys text,
  -- A request to end counts as a channel with a capacity of one.
  p_capacities integer[],
  p_iids bigint[],
  out verdicts text,
  out iids bigint[],
  out owners integer[]
)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
begin
  perform require_fresh_snapshots();
  perform be_durable();

  -- One plain message to a running instance that reads it soon and has room for it is a single
  -- statement, at a third of the cost. Everything else goes to post_any().
  if cardinality(p_iids) = 1
    and p_kinds[1] = :KIND.message
    and p_keys = ''
    and strpos(p_names || p_payloads || p_reply_tos, e'\x01') = 0
  then
    with sent as (
      insert into inbox (iid, kind, name, reply_to, payload, at)
      select i.iid, :KIND.message, p_names, nullif(p_reply_tos, ''), p_payloads, v_clock
      from instances as i
      where i.id = p_ids collate "C"
        and i.status = :STATUS.running
        -- See park_unread() for the others.
        and (
          select
            r.owner is not null
            or not r.held
              and :ADMITTED
              and (r.epoch > 0 or r.wake_at is null or r.wake_at <= v_clock + :FIRST_TURN_FAR_MS)
              and is_served(r.workflow, v_clock)
          from runs as r
          where r.iid = i.iid
        )
        and (
          p_capacities[1] is null
          or p_capacities[1] > (
            select count(*)
            from (
              select
              from inbox as m
              where m.iid = i.iid
                and m.kind > :KIND.failed
                and m.kind = :KIND.message
                and m.name = p_names collate "C"
              limit p_capacities[1]
            ) as waiting
          )
        )
      returning iid
    )
    select :POST_VERDICT.sent, array[s.iid], array[r.owner]
    into verdicts, iids, owners
    from sent as s
    left join runs as r on r.iid = s.iid;
    if found then
      return;
    end if;
  end if;

  select a.verdicts, a.iids, a.owners
  into verdicts, iids, owners
  from post_any(
    p_ids, p_kinds, p_names, p_payloads, p_reply_tos, p_keys, p_capacities, p_iids, v_clock
  ) as a;
end
$$;
