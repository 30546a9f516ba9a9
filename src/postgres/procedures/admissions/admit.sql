-- Judges one line: admits as many of it as the limit allows, by priority and then in the order in which
-- they were due. p_iids are instances of it that were due, and did not wait in line so far. The caller
-- has locked the line exclusively.
--
-- While an instance waits in line and the limit has room, or will have it by time alone, one of the line has
-- a wake_at: so a claim judges the line again.
create or replace function admit(
  p_workflow integer,
  p_limit_key text,
  p_iids bigint[],
  p_clock bigint
)
  returns void
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
declare
  v_rate_key text := 'w' || p_workflow || ' ' || p_limit_key;
  v_limit workflows%rowtype;
  v_ending bigint[];
  v_joining bigint[];
  v_left bigint := :MAX_JUDGED;
  v_rate_left bigint;
  v_opens_at bigint;
  v_chosen bigint[];
begin
  select w.*
  into v_limit
  from workflows as w
  where w.workflow = p_workflow;

  -- A request to end does not wait for a place: no code of it runs.
  v_ending := array(
    select e.iid
    from unnest(p_iids) as g (iid)
    cross join lateral (
      select m.iid
      from inbox as m
      where m.iid = g.iid
        and m.kind > :KIND.failed
        and m.kind in (:KIND.cancel, :KIND.terminate)
      limit 1
    ) as e
  );
  if cardinality(v_ending) > 0 then
    delete from admissions
    where iid = any (v_ending);
    update runs
    set admitted = null
    where iid = any (v_ending);
  end if;

  -- They join the line. One that is locked is just being suspended or terminated, by a transaction that
  -- waits for this one.
  v_joining := array(
    select r.iid
    from runs as r
    where r.iid = any (p_iids)
      and :UNADMITTED
      and not r.held
    for update skip locked
  );
  update admissions
  set state = :ADMISSION.waiting
  where iid = any (v_joining)
    and state = :ADMISSION.unjudged;
  update runs
  set wake_at = null
  where iid = any (v_joining);

  if v_limit.concurrency is not null and v_limit.keyed is not null then
    v_left := least(
      v_left,
      v_limit.concurrency - (
        select count(*)
        from (
          select
          from admissions as a
          where a.workflow = p_workflow
            and a.limit_key = p_limit_key collate "C"
            and a.state = :ADMISSION.admitted
          limit v_limit.concurrency
        ) as admitted
      )
    );
    if v_left < 1 then
      return;
    end if;
  end if;
  if v_limit.rate_count is not null and v_limit.keyed is not null then
    select r.most, r.opens_at
    into v_rate_left, v_opens_at
    from rate_left(v_rate_key, v_limit.rate_count, v_limit.rate_ms, p_clock) as r;
  end if;

  v_chosen := array(
    select r.iid
    from (
      select a.iid
      from admissions as a
      where a.workflow = p_workflow
        and a.limit_key = p_limit_key collate "C"
        and a.state = :ADMISSION.waiting
      order by a.priority desc, a.since, a.iid
      limit least(v_left, v_rate_left)
    ) as a
    cross join lateral (
      select r.iid
      from runs as r
      where r.iid = a.iid
        and :UNADMITTED
        and not r.held
      limit 1
      for update skip locked
    ) as r
  );
  if cardinality(v_chosen) > 0 then
    update admissions
    set state = :ADMISSION.admitted
    where iid = any (v_chosen);
    update runs
    set admitted = true,
        wake_at = p_clock
    where iid = any (v_chosen);
    v_left := v_left - cardinality(v_chosen);
    if v_rate_left is not null then
      perform spend_limits(
        array_fill(v_rate_key, array[cardinality(v_chosen)]),
        array_fill(v_limit.rate_count, array[cardinality(v_chosen)]),
        array_fill(v_limit.rate_ms, array[cardinality(v_chosen)]),
        p_clock
      );
      select r.opens_at
      into v_opens_at
      from rate_left(v_rate_key, v_limit.rate_count, v_limit.rate_ms, p_clock) as r;
    end if;
  end if;

  -- The one that is first now is judged when the rate allows it, or soon if there was more than one call may do.
  if v_left > 0 and v_opens_at is not null then
    perform wake_line(p_workflow, p_limit_key, v_opens_at);
  elsif cardinality(v_chosen) >= :MAX_JUDGED then
    perform wake_line(p_workflow, p_limit_key, p_clock);
  end if;
end
$$;
