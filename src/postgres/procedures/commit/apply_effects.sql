-- Applies the effects of turns besides their history, for the instances in p_done: one statement for
-- each kind of effect. p_effects are the lists declared below.
--
-- Settings: its caller's.
create or replace function apply_effects(p_clock bigint, p_done bigint[], p_effects text)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_lists text[] := split_lists(p_effects, 15);
  v_parked_iids bigint[] := v_lists[1];
  v_parked_ids bigint[] := v_lists[2];
  -- As close_children() takes them.
  v_closing_iids bigint[] := v_lists[3];
  v_closing_executions integer[] := v_lists[4];
  v_closing_commands integer[] := v_lists[5];
  v_cleared_iids bigint[] := v_lists[6];
  -- Changes of state, in order. v_state_kept is false for a key that is deleted.
  v_state_iids bigint[] := v_lists[7];
  v_state_kept boolean[] := v_lists[8];
  v_state_keys text[] := split_texts(v_lists[9], cardinality(v_state_iids));
  v_state_values text[] := split_texts(v_lists[10], cardinality(v_state_iids));
  v_progress_iids bigint[] := v_lists[11];
  v_progress text[] := split_texts(v_lists[12], cardinality(v_progress_iids));
  v_reply_iids bigint[] := v_lists[13];
  v_reply_tos text[] := split_texts(v_lists[14], cardinality(v_reply_iids));
  v_reply_payloads text[] := split_texts(v_lists[15], cardinality(v_reply_iids));
  v_parents bigint[];
  v_executions integer[];
  v_commands integer[];
begin
  if cardinality(v_parked_iids) > 0 then
    -- Without "not parked": with it, the planner might scan the index of unparked messages, which is
    -- made for claims.
    update inbox as i
    set parked = true
    from unnest(v_parked_iids, v_parked_ids) as p (iid, id)
    join unnest(p_done) as d (iid) on d.iid = p.iid
    where i.iid = p.iid
      and i.id = p.id;
  end if;

  if cardinality(v_closing_iids) > 0 then
    select array_agg(c.iid), array_agg(c.execution), array_agg(c.command)
    into v_parents, v_executions, v_commands
    from unnest(v_closing_iids, v_closing_executions, v_closing_commands)
      as c (iid, execution, command)
    join unnest(p_done) as d (iid) on d.iid = c.iid;
    if v_parents is not null then
      perform close_children(v_parents, v_executions, v_commands);
    end if;
  end if;

  if cardinality(v_cleared_iids) > 0 then
    delete from state as s
    using unnest(v_cleared_iids) as c (iid)
    join unnest(p_done) as d (iid) on d.iid = c.iid
    where s.iid = c.iid;
  end if;

  if cardinality(v_state_iids) > 0 then
    -- The last change of a key counts.
    with changes as materialized (
      select distinct on (c.iid, c.key) c.iid, c.key, c.kept, c.value
      from unnest(v_state_iids, v_state_kept, v_state_keys, v_state_values) with ordinality
        as c (iid, kept, key, value, place)
      join unnest(p_done) as d (iid) on d.iid = c.iid
      order by c.iid, c.key, c.place desc
    ),
    unset as (
      delete from state as s
      using changes as c
      where not c.kept
        and s.iid = c.iid
        and s.key = c.key collate "C"
    )
    insert into state (iid, key, value)
    select c.iid, c.key, c.value
    from changes as c
    where c.kept
    order by c.iid, c.key
    on conflict (iid, key) do update
    set value = excluded.value;
  end if;

  if cardinality(v_progress_iids) > 0 then
    update instances as i
    set progress = p.progress,
        progress_version = coalesce(i.progress_version, 0) + 1,
        updated_at = p_clock
    from unnest(v_progress_iids, v_progress) as p (iid, progress)
    join unnest(p_done) as d (iid) on d.iid = p.iid
    where i.iid = p.iid;
  end if;

  if cardinality(v_reply_iids) > 0 then
    insert into replies (reply_to, payload, at)
    select r.reply_to, r.payload, p_clock
    from unnest(v_reply_iids, v_reply_tos, v_reply_payloads) with ordinality
      as r (iid, reply_to, payload, place)
    join unnest(p_done) as d (iid) on d.iid = r.iid
    -- The first reply to a request counts.
    order by r.reply_to, r.place
    on conflict do nothing;
  end if;
end
$$;
