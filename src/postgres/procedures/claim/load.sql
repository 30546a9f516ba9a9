-- Everything needed to run instances: their rows, their parents, the history of their execution after
-- a given turn, their inbox, and the tasks of their execution. One statement, so that all of it is from
-- one snapshot, without locks.
--
-- A row is one part, and most are turns; so parts share columns. Of a parent, number is its iid,
-- first the command, count what becomes of the child, text its id. Of an inbox row, number is its
-- id, first the command, count the kind, text the payload. Of a task, number is the command, count
-- the attempts, parked whether it has an owner.
create or replace function load(p_iids bigint[], p_afters integer[])
  returns table (
    part text,
    iid bigint,
    execution integer,
    number bigint,
    at bigint,
    first integer,
    count integer,
    text text,
    name text,
    version text,
    reply_to text,
    parked boolean
  )
  language plpgsql
  stable
as $$
#variable_conflict use_column
begin
  return query
  with wanted as materialized (
    select i.*, w.name, w.version, p.after
    from unnest(p_iids, p_afters) as p (iid, after)
    join instances as i on i.iid = p.iid
    join workflows as w on w.workflow = i.workflow
  ),
  parts as (
    select
      1 as rank, 'instance' as part, w.iid, w.execution, null::bigint as number,
      null::bigint as at, null::integer as first, null::integer as count, w.id as text,
      w.name, w.version, null::text as reply_to, null::boolean as parked
    from wanted as w
    union all
    select
      2, 'parent', w.iid, w.parent_execution, w.parent_iid, null, w.parent_command,
      w.on_close::integer, w.parent_id, null, null, null, null
    from wanted as w
    where w.parent_iid is not null
    union all
    select
      3, 'turn', h.iid, h.execution, h.turn, h.at, h.first, h.count, h.events, null, null, null,
      null
    from wanted as w
    join history as h
      on h.iid = w.iid
      and h.execution = w.execution
      and h.turn > w.after
    union all
    select
      4, 'mail', m.iid, coalesce(m.execution, 0), m.id, null, coalesce(m.command, 0),
      m.kind::integer,
      -- As much of each channel as is read at once; what is behind that comes without its text.
      case
        when m.kind <> :KIND.message
          or sum(octet_length(m.payload)) over (partition by m.iid, m.name order by m.id)
            <= greatest(:MAX_MAIL_BYTES, octet_length(m.payload))
          then m.payload
      end,
      coalesce(m.name, ''), null, coalesce(m.reply_to, ''), m.parked
    from wanted as w
    join inbox as m on m.iid = w.iid
    union all
    select
      5, 'task', t.iid, t.execution, t.command, null, null, t.attempts, null, null, null, null,
      t.held_by is not null
    from wanted as w
    join tasks as t
      on t.iid = w.iid
      and t.execution = w.execution
  )
  select
    p.part, p.iid, p.execution, p.number, p.at, p.first, p.count, p.text, p.name, p.version,
    p.reply_to, p.parked
  from parts as p
  order by p.rank, p.iid, p.number;
end
$$;
