-- Commits the starts and turns of one runtime, each judged by itself (F1, F2, F4, C8 of
-- docs/internals/races.md). Must be called alone, as the only statement of its transaction.
--
-- Returns one letter per start and per turn, in the order given: see VERDICT.
create or replace function commit_batch(
  p_runtime integer,
  p_server text,
  -- The turns, one instance at most once. p_turns is null where there is nothing to append.
  p_iids bigint[],
  p_epochs integer[],
  p_executions integer[],
  p_turns integer[],
  p_ats bigint[],
  p_firsts integer[],
  p_counts integer[],
  p_events text,
  -- What else becomes of those instances.
  p_taken_iids bigint[],
  p_taken_ids bigint[],
  p_released_iids bigint[],
  p_wake_ats bigint[],
  p_held_iids bigint[],
  p_reports text,
  p_ended_iids bigint[],
  p_ended_statuses smallint[],
  p_ended_outputs text,
  -- Lists packed into one text each, or empty when there are none: as continue_instances(),
  -- insert_starts(), apply_effects() and change_tasks() take them.
  p_continued text,
  p_starts text,
  p_effects text,
  p_tasks text,
  out state text,
  out clock bigint,
  out server text,
  out starts text,
  out turns text,
  -- Instances that are due because others left the limit of their workflow; null for none.
  out woken bigint[]
)
  language plpgsql
  volatile
  set lock_timeout to '1s'
as $$
#variable_conflict use_column
declare
  v_alive boolean := enter(p_runtime);
  v_clock bigint := now_ms();
  v_server text := server_identity();
  v_size integer := cardinality(p_iids);
  v_events text[];
  v_done bigint[];
  -- Whether turns that exist already are skipped instead of failing.
  v_skips_existing boolean;
  v_more bigint[];
  v_with_deaths bigint[];
  v_born bigint[];
begin
  clock := v_clock;
  server := v_server;
  -- After a failover the latest turns may be lost: the runtime has to verify its live instances first.
  if v_server <> p_server then
    state := 'verify';
    return;
  end if;
  if not v_alive then
    state := 'dead';
    return;
  end if;
  perform be_durable();

  -- Before the turns: a turn that closes all children closes those of this batch as well. And ids are
  -- locked before inboxes, as in post(), so that the two cannot deadlock.
  if p_starts <> '' then
    -- Another transaction may have locked an id for long: see start_skip_locked().
    perform set_config('lock_timeout', '5ms', true);
    select s.letters, s.born
    into starts, v_born
    from insert_starts(p_runtime, v_clock, p_starts) as s;
    perform set_config('lock_timeout', '1s', true);
  end if;

  if v_size > 0 then
    v_events := split_texts(p_events, v_size);

    -- The insert is the verdict. With "on conflict do nothing" each row costs more locks and WAL; so
    -- larger batches are first written without it, in a subtransaction, whose cost (a transaction id
    -- among others) comes once per batch.
    --
    -- Does not join history: while the table is small, the planner may choose to read every turn of
    -- the instance.
    v_skips_existing := v_size < 8;
    if not v_skips_existing then
      begin
        with judged as materialized (
          select b.iid, b.n, r.attempts > 0 or r.doing is not null as has_deaths
          from unnest(p_iids) with ordinality as b (iid, n)
          join runs as r
            on r.iid = b.iid
            and r.owner = p_runtime
            and r.epoch = p_epochs[b.n]
            and not r.held
          where p_turns[b.n] is not null
        ),
        appended as (
          insert into history (iid, execution, turn, epoch, at, first, count, events)
          select
            iid, p_executions[n], p_turns[n], p_epochs[n], p_ats[n], p_firsts[n], p_counts[n],
            v_events[n]
          from judged
          order by iid
        )
        select array_agg(iid), array_agg(iid) filter (where has_deaths)
        into v_done, v_with_deaths
        from judged;
      exception
        when unique_violation then
          v_skips_existing := true;
      end;
    end if;
    if v_skips_existing then
      with judged as materialized (
        select b.iid, b.n, r.attempts > 0 or r.doing is not null as has_deaths
        from unnest(p_iids) with ordinality as b (iid, n)
        join runs as r
          on r.iid = b.iid
          and r.owner = p_runtime
          and r.epoch = p_epochs[b.n]
          and not r.held
        where p_turns[b.n] is not null
      ),
      appended as (
        insert into history (iid, execution, turn, epoch, at, first, count, events)
        select
          iid, p_executions[n], p_turns[n], p_epochs[n], p_ats[n], p_firsts[n], p_counts[n],
          v_events[n]
        from judged
        order by iid
        on conflict do nothing
        returning iid
      )
      select
        (select array_agg(iid) from appended),
        (select array_agg(iid) from judged where has_deaths)
      into v_done, v_with_deaths;
    end if;

    -- An item that appends no turn is judged under a lock on its row, so that the same item, sent
    -- again, waits for the first.
    if array_position(p_turns, null) is not null then
      select array_agg(locked.iid)
      into v_more
      from (
        select r.iid
        from unnest(p_iids, p_epochs, p_turns) as b (iid, epoch, turn)
        join runs as r
          on r.iid = b.iid
          and r.owner = p_runtime
          and r.epoch = b.epoch
          and not r.held
        where b.turn is null
        order by r.iid
        for no key update of r
      ) as locked;
      v_done := v_done || v_more;
    end if;

    -- It made progress: earlier deaths no longer count.
    if v_with_deaths is not null then
      update runs
      set attempts = 0,
          doing = null
      where iid = any (v_with_deaths)
        and iid = any (v_done);
    end if;

    if cardinality(p_released_iids) > 0 then
      -- A release is progress: its owner did not die of it.
      update runs as r
      set owner = null,
          wake_at = l.wake_at,
          attempts = 0,
          doing = null
      from unnest(p_released_iids, p_wake_ats) as l (iid, wake_at)
      join unnest(v_done) as d (iid) on d.iid = l.iid
      where r.iid = l.iid;
    end if;

    if cardinality(p_held_iids) > 0 then
      with aside as materialized (
        select h.iid, h.report
        from unnest(
          p_held_iids, split_texts(p_reports, cardinality(p_held_iids))
        ) as h (iid, report)
        join unnest(v_done) as d (iid) on d.iid = h.iid
      ),
      set_aside as (
        update runs as r
        set owner = null,
            wake_at = null,
            held = true
        from aside as a
        where r.iid = a.iid
      )
      update instances as i
      set report = a.report,
          updated_at = v_clock
      from aside as a
      where i.iid = a.iid;
    end if;

    if cardinality(p_taken_iids) > 0 then
      delete from inbox as i
      using unnest(p_taken_iids, p_taken_ids) as t (iid, id)
      join unnest(v_done) as d (iid) on d.iid = t.iid
      where i.iid = t.iid
        and i.id = t.id;
    end if;

    if p_continued <> '' then
      perform continue_instances(v_clock, v_done, p_continued);
    end if;
  end if;

  if p_effects <> '' then
    perform apply_effects(v_clock, v_done || v_born, p_effects);
  end if;

  if p_tasks <> '' then
    perform change_tasks(v_done || v_born, p_tasks);
  end if;

  if cardinality(p_ended_iids) > 0 then
    woken := end_instances(
      v_clock,
      -- The shorter list.
      case when cardinality(v_done) = v_size then p_ended_iids else v_done end,
      p_ended_iids, p_ended_statuses, p_ended_outputs
    );
  end if;

  state := 'ok';
  if v_size = 0 or cardinality(v_done) = v_size then
    turns := repeat(:VERDICT.done, v_size);
    return;
  end if;

  -- A refused item may have been written before, by a call whose answer was lost. Scalar subqueries
  -- throughout: an exists() may be planned as a hash of the whole table.
  turns := (
    select string_agg(
      case
        when d.iid is not null then :VERDICT.done
        when b.turn is not null then
          case
            when b.epoch = (
              select h.epoch
              from history as h
              where h.iid = b.iid
                and h.execution = b.execution
                and h.turn = b.turn
            ) then :VERDICT.done
            else :VERDICT.refused
          end
        -- Released or suspended, and not claimed since. Whatever else frees an instance raises its
        -- epoch, or marks its owner as dead first, and then this line is not reached.
        when b.iid = any (p_released_iids || p_held_iids)
          and b.epoch = (
            select r.epoch
            from runs as r
            where r.iid = b.iid
              and r.held = (b.iid = any (p_held_iids))
              and r.owner is null
          )
          then :VERDICT.done
        when (
            select (e.status, e.output)
            from unnest(
              p_ended_iids, p_ended_statuses,
              split_texts(p_ended_outputs, cardinality(p_ended_iids))
            ) as e (iid, status, output)
            where e.iid = b.iid
          ) = (
            select (i.status, i.output)
            from instances as i
            where i.iid = b.iid
          )
          then :VERDICT.done
        else :VERDICT.refused
      end,
      '' order by b.place
    )
    from unnest(p_iids, p_epochs, p_executions, p_turns) with ordinality
      as b (iid, epoch, execution, turn, place)
    left join unnest(v_done) as d (iid) on d.iid = b.iid
  );
end
$$;
