-- Adds new instances, for commit_batch() and start_batch(). Returns one letter for each, in the order
-- given (d done, e the id is taken, a the id is unstarted under another number, r the number is taken,
-- or the sender does not own the parent), and the numbers of those that were added now.
--
-- p_starts are lists, in the order of their variables below; the labels follow their count. Last come
-- the lists of messages that go with a start, and two that are left out if no instance has any: priorities,
-- and keys for the limits of workflows. Lists of parents and labels are empty if no instance has any.
--
-- Settings: its caller's.
create or replace function insert_starts(
  -- Null for a client, which does not have the store's time either.
  p_owner integer,
  p_clock bigint,
  p_starts text,
  out letters text,
  out born bigint[]
)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_lists text[] := string_to_array(p_starts, e'\x02');
  v_iids bigint[] := v_lists[1];
  v_size integer := cardinality(v_iids);
  v_ids text[] := split_texts(v_lists[2], v_size);
  v_workflows integer[] := v_lists[3];
  v_any_versions integer[] := any_versions(v_workflows);
  v_owned boolean[] := v_lists[4];
  v_wake_ats bigint[] := v_lists[5];
  v_executions integer[] := v_lists[6];
  v_turns integer[] := v_lists[7];
  v_ats bigint[] := v_lists[8];
  v_firsts integer[] := v_lists[9];
  v_counts integer[] := v_lists[10];
  v_events text[] := split_texts(v_lists[11], v_size);
  v_statuses smallint[] := v_lists[12];
  v_outputs text[];
  v_parent_iids bigint[];
  v_parent_executions integer[];
  v_parent_commands integer[];
  v_on_closes smallint[];
  v_parent_ids text[];
  v_labels text[];
  v_message_iids bigint[] := v_lists[21];
  v_is_plain boolean := v_lists[14] = '{}'
    and v_lists[19] = '0'
    and v_message_iids = '{}'
    and :STATUS.running = all (v_statuses);
  v_born bigint[] := '{}';
  v_more bigint[];
  v_awaited bigint[];
  v_ended bigint[];
  v_has_limits boolean := has_limits();
  v_priorities smallint[];
  v_limit_keys text[];
  -- Whether their workflow has a limit.
  v_is_limited boolean[];
begin
  if cardinality(v_lists) <> 23 then
    v_lists := split_lists(p_starts, 25);
    v_priorities := v_lists[24];
    -- Each after "=", or empty where the key is not known.
    v_limit_keys := string_to_array(v_lists[25], e'\x01', '');
  end if;
  if v_has_limits then
    v_is_limited := array(
      select (select true from limit_of(g.workflow))
      from unnest(v_workflows) with ordinality as g (workflow, n)
      order by g.n
    );
    if true = any (v_is_limited) and true = any (v_owned) then
      -- A sender that does not know of the limit: it has to send the start again, unowned, as it does if
      -- another transaction has locked the id.
      perform
      from unnest(v_is_limited, v_owned) as g (is_limited, owned)
      where g.is_limited
        and g.owned;
      if found then
        raise exception 'an instance of a workflow with a limit cannot be owned before it is admitted'
          using errcode = '55P03';
      end if;
    end if;
  end if;
  if not v_is_plain then
    v_outputs := split_texts(v_lists[13], v_size);
    v_parent_iids := v_lists[14];
    v_parent_executions := v_lists[15];
    v_parent_commands := v_lists[16];
    v_on_closes := v_lists[17];
    v_parent_ids := case when v_lists[14] <> '{}' then split_texts(v_lists[18], v_size) end;
    v_labels := case when v_lists[19] <> '0' then split_texts(v_lists[20], v_size) end;
  end if;

  loop
    -- Of several starts of one id, the one under the number that its messages have comes first: under
    -- another number, the messages would belong to no instance.
    --
    -- Most starts have only an id and a first turn, and a statement of their own: the one for all
    -- columns costs several times as much to set up.
    if v_is_plain then
      with added as (
        insert into instances (
          iid, id, workflow, any_version, execution, status, created_at, updated_at
        )
        select
          g.iid, v_ids[n], v_workflows[n], v_any_versions[n], v_executions[n], :STATUS.running, p_clock,
          p_clock
        from unnest(v_iids) with ordinality as g (iid, n)
        order by v_ids[n] collate "C", g.iid = any (v_awaited) desc nulls last
        on conflict do nothing
        returning iid
      )
      select array_agg(iid)
      into v_more
      from added;
    else
      with added as (
        insert into instances (
          iid, id, workflow, any_version, execution, status, output, created_at, updated_at, finished_at,
          parent_iid, parent_execution, parent_command, on_close, parent_id, labels
        )
        select
          g.iid, v_ids[n], v_workflows[n], v_any_versions[n], v_executions[n], v_statuses[n],
          case when v_statuses[n] > :STATUS.running then v_outputs[n] end,
          p_clock,
          p_clock,
          case when v_statuses[n] > :STATUS.running then p_clock end,
          v_parent_iids[n], v_parent_executions[n], v_parent_commands[n], v_on_closes[n],
          v_parent_ids[n], nullif(v_labels[n], '{}')
        from unnest(v_iids) with ordinality as g (iid, n)
        -- The starter of a child must own the parent: another owner may have dropped the command.
        where v_parent_iids[n] is null
          or p_owner is null
          -- Its unstarted row is deleted already.
          or g.iid = any (v_awaited)
          or coalesce(
            (
              select r.owner is not distinct from p_owner
              from runs as r
              where r.iid = v_parent_iids[n]
            ),
            true
          )
        -- In one order, so that two calls for the same ids cannot deadlock.
        order by v_ids[n] collate "C", g.iid = any (v_awaited) desc nulls last
        on conflict do nothing
        returning iid
      )
      select array_agg(iid)
      into v_more
      from added;
    end if;

    -- In any order: no other transaction writes rows with these numbers.
    if v_more is not null and (v_has_limits or v_priorities is not null) then
      insert into runs (iid, workflow, owner, epoch, wake_at, priority, admitted)
      select
        g.iid, v_workflows[n],
        case when v_owned[n] then p_owner end,
        case when v_owned[n] or v_counts[n] > 1 then 1 else 0 end,
        case when not v_owned[n] then v_wake_ats[n] end,
        nullif(v_priorities[n], 0),
        case when v_is_limited[n] then false end
      from unnest(v_iids) with ordinality as g (iid, n)
      where v_statuses[n] = :STATUS.running
        and g.iid = any (v_more);
      if true = any (v_is_limited) then
        perform line_up(
          p_clock, array_agg(g.iid), array_agg(substr(v_limit_keys[n], 2))
        )
        from unnest(v_iids) with ordinality as g (iid, n)
        where v_is_limited[n]
          and g.iid = any (v_more);
      end if;
      insert into history (iid, execution, turn, epoch, at, first, count, events)
      select
        g.iid, v_executions[n], v_turns[n],
        case when v_owned[n] or v_counts[n] > 1 then 1 else 0 end,
        case when p_owner is null then p_clock else v_ats[n] end,
        v_firsts[n], v_counts[n], v_events[n]
      from unnest(v_iids) with ordinality as g (iid, n)
      where g.iid = any (v_more);
    elsif v_more is not null then
      with to_run as (
        insert into runs (iid, workflow, owner, epoch, wake_at)
        select
          g.iid, v_workflows[n],
          case when v_owned[n] then p_owner end,
          -- 0 until its code runs for the first time.
          case when v_owned[n] or v_counts[n] > 1 then 1 else 0 end,
          case when not v_owned[n] then v_wake_ats[n] end
        from unnest(v_iids) with ordinality as g (iid, n)
        where v_statuses[n] = :STATUS.running
          and (cardinality(v_more) = v_size or g.iid = any (v_more))
      )
      insert into history (iid, execution, turn, epoch, at, first, count, events)
      select
        g.iid, v_executions[n], v_turns[n],
        case when v_owned[n] or v_counts[n] > 1 then 1 else 0 end,
        case when p_owner is null then p_clock else v_ats[n] end,
        v_firsts[n], v_counts[n], v_events[n]
      from unnest(v_iids) with ordinality as g (iid, n)
      where cardinality(v_more) = v_size
        or g.iid = any (v_more);
    end if;
    v_born := v_born || v_more;
    exit when cardinality(v_born) = v_size or v_awaited is not null;

    -- Messages came first: the start replaces the unstarted row with the same number, and the messages
    -- stay.
    v_awaited := array(
      select i.iid
      from unnest(v_iids, v_ids, v_parent_iids) as g (iid, id, parent_iid)
      join instances as i on i.iid = g.iid
      where i.id = g.id collate "C"
        and i.status = :STATUS.unstarted
        -- As above: an unstarted row that is not replaced must stay, or its messages would be lost.
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
    if cardinality(v_awaited) > 0 then
      -- For messages that are just being sent and not visible yet: see unpark_started().
      update absences
      set at = -1
      where iid = any (v_awaited);
      update inbox
      set parked = false,
          early = false
      where iid = any (v_awaited);
    end if;
    -- Then once more, even if nothing waited: a conflicting row may be gone by now.
  end loop;
  born := v_born;
  if v_is_plain and cardinality(v_born) = v_size then
    letters := repeat(:VERDICT.done, v_size);
    return;
  end if;

  if cardinality(v_message_iids) > 0 then
    insert into inbox (iid, kind, name, payload)
    select m.iid, :KIND.message, m.name, m.payload
    from unnest(
      v_message_iids,
      split_texts(v_lists[22], cardinality(v_message_iids)),
      split_texts(v_lists[23], cardinality(v_message_iids))
    ) with ordinality as m (iid, name, payload, place)
    join unnest(v_born) as b (iid) on b.iid = m.iid
    join runs as r on r.iid = m.iid
    order by m.iid, m.place;
  end if;

  if v_labels is not null then
    perform note_labels(p_clock, v_born, v_iids, v_labels);
  end if;

  -- Instances that ended in their first turn, with messages or a parent.
  if cardinality(v_awaited) > 0 or v_lists[14] <> '{}' then
    v_ended := array(
      select g.iid
      from unnest(v_iids, v_statuses) as g (iid, status)
      join unnest(v_born) as b (iid) on b.iid = g.iid
      where g.status > :STATUS.running
    );
    if cardinality(v_ended) > 0 then
      delete from inbox
      where iid = any (v_ended);
      perform tell_parents(v_ended);
    end if;
  end if;

  if v_lists[14] <> '{}' then
    perform close_orphans(v_born);
  end if;
  if :STATUS.running < any (v_statuses) then
    perform note_ended(p_clock, v_born);
    if :STATUS.completed < any (v_statuses) then
      perform note_unsuccessful(v_born);
    end if;
  end if;

  if cardinality(v_born) = v_size then
    letters := repeat(:VERDICT.done, v_size);
    return;
  end if;

  -- A number that exists is the same start, sent again. If its sender was to own it and has lost it
  -- since, the sender must not continue it.
  letters := (
    select string_agg(
      case
        when b.iid is not null then :VERDICT.done
        -- Still unstarted: this sender was not allowed to start it.
        when known.id = g.id and known.status = :STATUS.unstarted then :VERDICT.refused
        when known.id = g.id then
          case
            when not g.owned or g.status > :STATUS.running then :VERDICT.done
            when (
                select true
                from runs as r
                where r.iid = g.iid
                  and r.owner = p_owner
                  and r.epoch = 1
              )
              then :VERDICT.done
            else :VERDICT.refused
          end
        when known.id is not null then :VERDICT.refused
        when taken.status = :STATUS.unstarted then :VERDICT.unstarted
        when taken.id is not null then :VERDICT.exists
        else :VERDICT.refused
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
