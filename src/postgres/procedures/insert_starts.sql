-- Adds new instances, for commit_batch() and start_batch(). Answers with one letter for each, in the
-- order given (d done, e the id is taken, a messages wait for the id under another number, r the
-- number is taken, or its sender does not own the parent), and with the numbers of those that were
-- added now.
--
-- p_starts are lists, in the order of the columns of `given`; the labels follow their number. Then
-- come those of messages that go with a start. Lists of parents and labels are empty where none of
-- the instances has any.
create or replace function insert_starts(
  -- Null for a client, who does not know the time either.
  p_owner integer,
  p_clock bigint,
  p_starts text,
  out letters text,
  out born bigint[]
)
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
declare
  v_lists text[] := split_lists(p_starts, 23);
  v_iids bigint[] := v_lists[1];
  v_size integer := cardinality(v_iids);
  v_ids text[] := split_texts(v_lists[2], v_size);
  v_owned boolean[] := v_lists[4];
  v_statuses smallint[] := v_lists[12];
  v_message_iids bigint[] := v_lists[21];
  v_born bigint[] := '{}';
  v_more bigint[];
  v_awaited bigint[];
  v_ended bigint[];
  -- 0 as long as nobody has run its code, as below.
  v_is_run boolean;
begin
  -- One alone, as in a transaction of a user, has a way of its own: the statement for many costs
  -- several times as much to begin.
  if v_size = 1 and v_statuses[1] = 1 and v_lists[14] = '{}' and v_message_iids = '{}' then
    insert into instances (iid, id, workflow, execution, status, created_at, updated_at, labels)
    values (
      v_iids[1], v_ids[1], (v_lists[3]::integer[])[1], (v_lists[6]::integer[])[1], 1, p_clock,
      p_clock, case when v_lists[19] <> '0' then nullif(v_lists[20], '{}') end
    )
    on conflict do nothing;
    if found then
      v_is_run := v_owned[1] or (v_lists[10]::integer[])[1] > 1;
      insert into runs (iid, workflow, owner, epoch, wake_at)
      values (
        v_iids[1], (v_lists[3]::integer[])[1],
        case when v_owned[1] then p_owner end,
        v_is_run::integer,
        case when not v_owned[1] then (v_lists[5]::bigint[])[1] end
      );
      insert into history (iid, execution, turn, epoch, at, first, count, events)
      values (
        v_iids[1], (v_lists[6]::integer[])[1], (v_lists[7]::integer[])[1], v_is_run::integer,
        case when p_owner is null then p_clock else (v_lists[8]::bigint[])[1] end,
        (v_lists[9]::integer[])[1], (v_lists[10]::integer[])[1],
        (split_texts(v_lists[11], 1))[1]
      );
      born := v_iids;
      letters := 'd';
      return;
    end if;
  end if;

  loop
    with given as materialized (
      select *
      from unnest(
        v_iids, v_ids, v_lists[3]::integer[], v_owned, v_lists[5]::bigint[],
        v_lists[6]::integer[], v_lists[7]::integer[], v_lists[8]::bigint[],
        v_lists[9]::integer[], v_lists[10]::integer[], split_texts(v_lists[11], v_size),
        v_statuses, split_texts(v_lists[13], v_size),
        v_lists[14]::bigint[], v_lists[15]::integer[], v_lists[16]::integer[],
        v_lists[17]::smallint[],
        case when v_lists[14] <> '{}' then split_texts(v_lists[18], v_size) end,
        case when v_lists[19] <> '0' then split_texts(v_lists[20], v_size) end
      ) as g (
        iid, id, workflow, owned, wake_at, execution, turn, at, first, count, events, status,
        output, parent_iid, parent_execution, parent_command, on_close, parent_id, labels
      )
    ),
    added as (
      insert into instances (
        iid, id, workflow, execution, status, output, created_at, updated_at, finished_at,
        parent_iid, parent_execution, parent_command, on_close, parent_id, labels
      )
      select
        iid, id, workflow, execution, status,
        case when status > 1 then output end,
        p_clock,
        p_clock,
        case when status > 1 then p_clock end,
        parent_iid, parent_execution, parent_command, on_close, parent_id,
        nullif(labels, '{}')
      from given as g
      -- Who started it for a workflow has to own that: another owner may have called it off.
      where g.parent_iid is null
        or p_owner is null
        or coalesce(
          (select r.owner is not distinct from p_owner from runs as r where r.iid = g.parent_iid),
          true
        )
      -- Two who start the same ids meet them in the same order, and cannot block each other.
      order by id
      on conflict do nothing
      returning iid
    ),
    to_run as (
      insert into runs (iid, workflow, owner, epoch, wake_at)
      select
        iid, workflow,
        case when owned then p_owner end,
        -- 0 as long as nobody has run its code.
        case when owned or count > 1 then 1 else 0 end,
        case when not owned then wake_at end
      from given
      join added using (iid)
      where status = 1
      order by iid
    ),
    first_turns as (
      insert into history (iid, execution, turn, epoch, at, first, count, events)
      select
        iid, execution, turn,
        case when owned or count > 1 then 1 else 0 end,
        case when p_owner is null then p_clock else at end,
        first, count, events
      from given
      join added using (iid)
      order by iid
    )
    select array_agg(iid)
    into v_more
    from added;
    v_born := v_born || v_more;
    exit when cardinality(v_born) = v_size or v_awaited is not null;

    -- Messages came first: the row that stands for the instance under the same number gives way to
    -- the start, and the messages stay.
    v_awaited := array(
      select i.iid
      from unnest(v_iids, v_ids, v_lists[14]::bigint[]) as g (iid, id, parent_iid)
      join instances as i on i.iid = g.iid
      where i.id = g.id collate "C"
        and i.status = 0
        -- As above: what nobody takes the place of must stay, or its messages would be nobody's.
        and (
          g.parent_iid is null
          or p_owner is null
          or coalesce(
            (select r.owner is not distinct from p_owner from runs as r where r.iid = g.parent_iid),
            true
          )
        )
      order by i.id
      for update of i
    );
    delete from instances
    where iid = any (v_awaited);
    -- Then once more, also where nothing waited: what was in the way may be gone by now.
  end loop;
  born := v_born;

  if cardinality(v_message_iids) > 0 then
    insert into inbox (iid, kind, name, payload)
    select m.iid, 3, m.name, m.payload
    from unnest(
      v_message_iids,
      split_texts(v_lists[22], cardinality(v_message_iids)),
      split_texts(v_lists[23], cardinality(v_message_iids))
    ) with ordinality as m (iid, name, payload, place)
    join unnest(v_born) as b (iid) on b.iid = m.iid
    join runs as r on r.iid = m.iid
    order by m.iid, m.place;
  end if;

  -- Ended within their first turn, though messages or a parent wait for them.
  if cardinality(v_awaited) > 0 or v_lists[14] <> '{}' then
    v_ended := array(
      select g.iid
      from unnest(v_iids, v_statuses) as g (iid, status)
      join unnest(v_born) as b (iid) on b.iid = g.iid
      where g.status > 1
    );
    if cardinality(v_ended) > 0 then
      delete from inbox
      where iid = any (v_ended);
      delete from posted
      where iid = any (v_ended);
      perform tell_parents(v_ended);
    end if;
  end if;

  if v_lists[14] <> '{}' then
    perform close_orphans(v_born);
  end if;
  if 1 < any (v_statuses) then
    perform note_ended(p_clock, v_born);
  end if;

  if cardinality(v_born) = v_size then
    letters := repeat('d', v_size);
    return;
  end if;

  -- The number is known from before: the same start, sent again. If it was to be owned and its
  -- sender has lost it since, the sender must not go on with it.
  letters := (
    select string_agg(
      case
        when b.iid is not null then 'd'
        -- It waits for who may start it.
        when known.id = g.id and known.status = 0 then 'r'
        when known.id = g.id then
          case
            when not g.owned or g.status > 1 then 'd'
            when (
                select true
                from runs as r
                where r.iid = g.iid
                  and r.owner = p_owner
                  and r.epoch = 1
              )
              then 'd'
            else 'r'
          end
        when known.id is not null then 'r'
        when taken.status = 0 then 'a'
        when taken.id is not null then 'e'
        else 'r'
      end,
      '' order by g.place
    )
    from unnest(v_iids, v_ids, v_owned, v_statuses) with ordinality
      as g (iid, id, owned, status, place)
    left join unnest(v_born) as b (iid) on b.iid = g.iid
    left join lateral (
      select i.id, i.status
      from instances as i
      where i.iid = g.iid
      limit 1
    ) as known on true
    left join lateral (
      select i.id, i.status
      from instances as i
      where i.id = g.id collate "C"
      limit 1
    ) as taken on true
  );
end
$$;
