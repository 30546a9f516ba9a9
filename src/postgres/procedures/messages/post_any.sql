-- The general case of post(): any number, of any kind, to instances in any state.
--
-- Settings: its caller's.
create or replace function post_any(
  p_ids text,
  p_kinds smallint[],
  p_names text,
  p_payloads text,
  p_reply_tos text,
  p_keys text,
  -- A request to end counts as a channel with a capacity of one.
  p_capacities integer[],
  p_iids bigint[],
  p_clock bigint,
  out verdicts text,
  out iids bigint[],
  out owners integer[]
)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_size integer := cardinality(p_iids);
  v_ids text[] := split_texts(p_ids, v_size);
  v_names text[] := split_texts(p_names, v_size);
  v_payloads text[] := split_texts(p_payloads, v_size);
  v_reply_tos text[] := split_texts(p_reply_tos, v_size);
  v_keys text[] := split_texts(p_keys, v_size);
  v_targets bigint[];
  v_early bigint[];
  v_post record;
  -- How many wait in a channel, and which keys are used up, at the place of the first post of each.
  v_waiting bigint[] := array_fill(0::bigint, array[v_size]);
  v_used boolean[] := array_fill(false, array[v_size]);
  -- How many wait for a start, at the place of the first post to each that was never started.
  v_unstarted bigint[] := array_fill(0::bigint, array[v_size]);
  v_letters text[] := '{}';
  v_keyed integer := 0;
  v_kept_iids bigint[];
  v_kept_keys text[];
  v_is_taken boolean := false;
  -- Whether no more messages are kept for unstarted instances; null until it matters.
  v_is_full boolean;
  -- Whether it is parked until a start.
  v_is_early boolean[] := array_fill(false, array[v_size]);
  -- Instances whose mail is parked for another reason.
  v_unread bigint[];
begin
  loop
    v_targets := iids_of(p_ids, v_size);
    v_early := array(
      select g.place
      from unnest(v_targets, p_kinds, p_capacities) with ordinality
        as g (target, kind, capacity, place)
      where g.target is null
        and g.kind = :KIND.message
        -- A message without room is refused, and must leave no row.
        and g.capacity is distinct from 0
    );
    if v_is_full is null and cardinality(v_early) > 0 then
      v_is_full := unstarted_is_full();
    end if;
    if v_is_full then
      v_early := '{}';
    end if;
    exit when cardinality(v_early) = 0 and keep_unstarted(v_targets, p_clock);
    -- Then look again, in a new statement, which sees a concurrent insert. An id that is still
    -- missing had a number that is taken: it was reserved before a failover that lost the latest
    -- writes. A number from the sequence may belong to a block that is just being reserved; a call
    -- that finds it taken tries the next one.
    insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    select
      case when v_is_taken then nextval('instance_numbers') else p_iids[n.place] end,
      n.id, 0, 0, :STATUS.unstarted, p_clock, p_clock
    from (
      select distinct on (id) e.place, v_ids[e.place] as id
      from unnest(v_early) as e (place)
      order by id, e.place
    ) as n
    order by n.id
    on conflict do nothing;
    v_is_taken := cardinality(v_early) > 0;
  end loop;

  -- One after the other: whether there is room for a message depends on those before it.
  for v_post in
    with given as materialized (
      select
        g.place, g.target, i.status, g.kind, g.name, g.key, g.capacity,
        min(g.place) over (partition by g.target, g.kind, g.name) as channel,
        max(g.capacity) over (partition by g.target, g.kind, g.name) as counted,
        min(g.place) over (partition by g.target, g.key) as key_place,
        min(g.place) over (partition by g.target) as target_place
      from unnest(v_targets, p_kinds, v_names, v_keys, p_capacities) with ordinality
        as g (target, kind, name, key, capacity, place)
      left join instances as i on i.iid = g.target
    )
    select
      g.*,
      case
        when g.place = g.channel and g.counted > 0 then (
          select count(*)
          from (
            select
            from inbox as m
            where m.iid = g.target
              and m.kind > :KIND.failed
              and m.kind = g.kind
              and m.name = g.name collate "C"
            limit g.counted
          ) as waiting
        )
      end as waiting,
      case
        when g.key <> '' then (
          select true
          from posted as p
          where p.iid = g.target
            and p.key = g.key collate "C"
        )
      end as is_known,
      case
        when g.status = :STATUS.unstarted and g.place = g.target_place then (
          select count(*)
          from (
            select
            from inbox as m
            where m.iid = g.target
              and m.kind > :KIND.failed
            limit :MAX_UNSTARTED_MESSAGES
          ) as unstarted
        )
      end as unstarted
    from given as g
    order by g.place
  loop
    if v_post.waiting > 0 then
      v_waiting[v_post.place] := v_post.waiting;
    end if;
    if v_post.unstarted > 0 then
      v_unstarted[v_post.place] := v_post.unstarted;
    end if;
    if v_is_full is null and v_post.status = :STATUS.unstarted then
      v_is_full := unstarted_is_full();
    end if;
    if v_post.target is null then
      v_letters := v_letters || case when v_post.kind = :KIND.message then :POST_VERDICT.full else :POST_VERDICT.unknown end;
    -- First of all: a repeated message counts as a duplicate even if its instance has ended.
    elsif v_post.is_known then
      v_letters := v_letters || :POST_VERDICT.duplicate::text;
    -- Or removed since we looked.
    elsif coalesce(v_post.status, :STATUS.completed) > :STATUS.running then
      v_letters := v_letters || :POST_VERDICT.ended::text;
    elsif v_post.status = :STATUS.unstarted and v_post.kind > :KIND.message then
      v_letters := v_letters || :POST_VERDICT.unknown::text;
    elsif v_post.key <> '' and v_used[v_post.key_place] then
      v_letters := v_letters || :POST_VERDICT.duplicate::text;
    elsif v_waiting[v_post.channel] >= v_post.capacity then
      v_letters := v_letters || case when v_post.kind = :KIND.message then :POST_VERDICT.full else :POST_VERDICT.duplicate end;
    elsif v_post.status = :STATUS.unstarted
      and (v_unstarted[v_post.target_place] >= :MAX_UNSTARTED_MESSAGES or v_is_full)
    then
      v_letters := v_letters || :POST_VERDICT.full::text;
    else
      v_is_early[v_post.place] := v_post.status = :STATUS.unstarted;
      v_letters := v_letters || :POST_VERDICT.sent::text;
      v_waiting[v_post.channel] := v_waiting[v_post.channel] + 1;
      v_unstarted[v_post.target_place] := v_unstarted[v_post.target_place] + 1;
      if v_post.key <> '' then
        v_used[v_post.key_place] := true;
        v_keyed := v_keyed + 1;
      end if;
    end if;
  end loop;

  if v_keyed > 0 then
    with kept as (
      insert into posted (iid, key)
      select g.target, g.key
      from unnest(v_targets, v_keys, v_letters) as g (target, key, letter)
      where g.letter = :POST_VERDICT.sent
        and g.key <> ''
      order by g.target, g.key
      on conflict do nothing
      returning iid, key
    )
    select array_agg(k.iid), array_agg(k.key)
    into v_kept_iids, v_kept_keys
    from kept as k;
    -- Another transaction has posted with the same key since.
    if coalesce(cardinality(v_kept_iids), 0) < v_keyed then
      v_letters := array(
        select
          case
            when g.letter = :POST_VERDICT.sent and g.key <> '' and k.iid is null then :POST_VERDICT.duplicate
            else g.letter
          end
        from unnest(v_targets, v_keys, v_letters) with ordinality
          as g (target, key, letter, place)
        left join unnest(v_kept_iids, v_kept_keys) as k (iid, key)
          on k.iid = g.target
          and k.key = g.key
        order by g.place
      );
    end if;
  end if;

  v_unread := park_unread(
    array(
      select distinct g.target
      from unnest(v_targets, v_letters) as g (target, letter)
      where g.letter = :POST_VERDICT.sent
    ),
    p_clock
  );
  -- Parked if no runtime can claim the instance now: claims and ticks would read it in vain.
  insert into inbox (iid, kind, name, reply_to, payload, at, parked, early)
  select
    g.target, g.kind, g.name, nullif(g.reply_to, ''), g.payload, p_clock,
    g.early or g.target = any (v_unread), g.early
  from unnest(v_targets, p_kinds, v_names, v_reply_tos, v_payloads, v_letters, v_is_early)
    with ordinality as g (target, kind, name, reply_to, payload, letter, early, place)
  where g.letter = :POST_VERDICT.sent
  -- By instance, so that two senders meet in one order; within one, as they were posted.
  order by g.target, g.place;

  -- Messages do not wake a scheduled instance, but a request to end does not wait for its time.
  if p_kinds && array[:KIND.cancel, :KIND.terminate]::smallint[] then
    update runs as r
    set wake_at = case when not r.held then p_clock end,
        due_at = case when r.held then p_clock end
    from unnest(v_targets, p_kinds, v_letters) as g (target, kind, letter)
    where r.iid = g.target
      and g.letter = :POST_VERDICT.sent
      and g.kind in (:KIND.cancel, :KIND.terminate)
      and r.epoch = 0
      and r.owner is null
      and (r.wake_at is not null or r.held or :UNADMITTED);
  end if;

  verdicts := array_to_string(v_letters, '');
  select
    array_agg(case when g.letter = :POST_VERDICT.unknown then 0 else coalesce(g.target, 0) end order by g.place),
    array_agg(r.owner order by g.place)
  into iids, owners
  from unnest(v_targets, v_letters) with ordinality as g (target, letter, place)
  left join runs as r on r.iid = g.target;
end
$$;
