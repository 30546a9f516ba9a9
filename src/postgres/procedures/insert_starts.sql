-- Adds new instances, for commit_batch() and start_batch(). Returns one letter for each, in the
-- order given: d done, e the id is taken, r the number is taken.
create or replace function insert_starts(
  p_owner integer,
  p_clock bigint,
  p_iids bigint[],
  p_ids text,
  p_workflows integer[],
  p_owned boolean[],
  p_wake_ats bigint[],
  p_executions integer[],
  p_turns integer[],
  p_ats bigint[],
  p_firsts integer[],
  p_counts integer[],
  p_events text,
  p_statuses smallint[],
  p_outputs text
)
  returns text
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
declare
  v_size integer := cardinality(p_iids);
  v_ids text[] := split_texts(p_ids, v_size);
  v_events text[] := split_texts(p_events, v_size);
  v_outputs text[] := split_texts(p_outputs, v_size);
  v_born bigint[];
begin
  with given as materialized (
    select *
    from unnest(
      p_iids, v_ids, p_workflows, p_owned, p_wake_ats, p_executions, p_turns, p_ats, p_firsts,
      p_counts, v_events, p_statuses, v_outputs
    ) as g (
      iid, id, workflow, owned, wake_at, execution, turn, at, first, count, events, status, output
    )
  ),
  born as (
    insert into instances (
      iid, id, workflow, execution, status, output, created_at, updated_at, finished_at
    )
    select
      iid, id, workflow, execution, status,
      case when status > 1 then output end,
      p_clock,
      p_clock,
      case when status > 1 then p_clock end
    from given
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
      case when owned then 1 else 0 end,
      case when not owned then wake_at end
    from given
    join born using (iid)
    where status = 1
    order by iid
  ),
  first_turns as (
    insert into history (iid, execution, turn, epoch, at, first, count, events)
    select
      iid, execution, turn,
      case when owned then 1 else 0 end,
      at, first, count, events
    from given
    join born using (iid)
    order by iid
  )
  select array_agg(iid)
  into v_born
  from born;

  if cardinality(v_born) = v_size then
    return repeat('d', v_size);
  end if;

  -- The number is known from before: the same start, sent again. If it was to be owned and its
  -- sender has lost it since, the sender must not go on with it.
  return (
    select string_agg(
      case
        when b.iid is not null then 'd'
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
        when known.id is null then 'e'
        else 'r'
      end,
      '' order by g.place
    )
    from unnest(p_iids, v_ids, p_owned, p_statuses) with ordinality
      as g (iid, id, owned, status, place)
    left join unnest(v_born) as b (iid) on b.iid = g.iid
    left join lateral (
      select i.id
      from instances as i
      where i.iid = g.iid
      limit 1
    ) as known on true
  );
end
$$;
