-- Takes steps with partitions for a runtime: claim, or settle what was delivered; then read; then release.
-- One transaction for all of them; each is judged by itself on (runtime, epoch, cursor).
--
-- Returns for each step one row without a position, whose payload is the answer as JSON, and then one row
-- for each message.
create or replace function outbox_steps(p_runtime integer, p_steps text)
  returns table (
    step integer,
    -- Null for the answer itself.
    message_position bigint,
    id bigint,
    seq bigint,
    key text,
    payload text,
    headers text,
    enqueued_at bigint,
    expires_at bigint,
    failures integer,
    -- Whether it waited apart.
    is_due boolean,
    -- Whether messages with its key wait apart, so that it has to wait behind them.
    is_waiting boolean
  )
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_steps jsonb := p_steps::jsonb;
  v_clock bigint;
  v_is_alive boolean := enter(p_runtime);
  v_last bigint;
  v_keys bigint[];
  v_positions bigint[];
  v_horizon bigint;
  v_is_blocked boolean;
  v_place integer := -1;
  v_step jsonb;
  v_settle jsonb;
  v_row outbox_partitions;
  v_before outbox_partitions;
  v_is_claim boolean;
  v_abandoned integer;
  v_read integer;
  v_messages integer;
  v_due integer;
  v_later bigint;
  v_later_at bigint;
  v_waiting_at bigint;
  v_is_released boolean;
begin
  if v_is_alive then
    perform be_durable();
    v_clock := now_ms();
    -- In this order: see outbox_adders().
    select case when is_called then last_value else 0 end into v_last from outbox_positions;
    if exists (
      select from jsonb_array_elements(v_steps) as s where (s ->> 'read')::integer > 0
    ) then
      select a.keys, a.positions into v_keys, v_positions from outbox_adders(v_last) as a;
    end if;
  end if;

  for v_step in select * from jsonb_array_elements(v_steps) loop
    v_place := v_place + 1;
    if not v_is_alive then
      return query select v_place, null::bigint, null::bigint, null::bigint, null, '{"state":"dead"}',
        null, null::bigint, null::bigint, null::integer, null::boolean, null::boolean;
      continue;
    end if;

    v_is_claim := v_step ->> 'epoch' is null;
    v_abandoned := 0;
    v_row := null;
    if v_is_claim then
      select p.* into v_row
      from outbox_partitions as p
      where p.partition = (v_step ->> 'partition')::integer
        and (p.owner is null or p.owner = p_runtime or not exists (
          select from runtimes as r where r.runtime = p.owner and r.state = :RUNTIME.alive
        ))
      for no key update skip locked;
    else
      select p.* into v_row
      from outbox_partitions as p
      where p.partition = (v_step ->> 'partition')::integer
      for no key update;
      if v_row.owner is distinct from p_runtime
        or v_row.epoch <> (v_step ->> 'epoch')::bigint
        or v_row.cursor <> coalesce((v_step -> 'settle' ->> 'cursor')::bigint, v_row.cursor)
      then
        v_row := null;
      end if;
    end if;
    if v_row.partition is null then
      return query select v_place, null::bigint, null::bigint, null::bigint, null,
        case when v_is_claim then '{"state":"busy"}' else '{"state":"lost"}' end,
        null, null::bigint, null::bigint, null::integer, null::boolean, null::boolean;
      continue;
    end if;

    v_before := v_row;
    if v_is_claim then
      if v_row.owner is not null
        and v_row.owner <> p_runtime
        and v_row.handed + v_row.handed_waiting > 0
        -- One that was stopped did not die of them, and a lease that expired while the server was down could
        -- not be renewed: see reclaim_dead().
        and not exists (
          select from runtimes as r
          where r.runtime = v_row.owner
            and (r.state = :RUNTIME.closed or r.lease_until <= server_since())
        )
      then
        v_abandoned := v_row.handed + v_row.handed_waiting;
        -- Its owner died with these messages: that is a failure of each of them.
        select array_agg(g.position), array_agg(g.failures)
        into v_row.failed, v_row.failures
        from (
          select position, sum(failures)::integer as failures
          from (
            select unnest(v_row.failed) as position, unnest(v_row.failures) as failures
            union all
            (
              select m.position, 1
              from outbox_messages as m
              where m.partition = v_row.partition
                and m.position > v_row.cursor
                and not m.position = any (v_row.done)
              order by m.position
              limit v_row.handed
            )
          ) as each
          group by position
        ) as g;
        v_row.failed := coalesce(v_row.failed, '{}');
        v_row.failures := coalesce(v_row.failures, '{}');
        update outbox_waiting as w
        set failures = w.failures + 1
        from (
          select w.position
          from outbox_waiting as w
          where w.partition = v_row.partition
            and w.due_at is not null
          order by w.due_at, w.position
          limit v_row.handed_waiting
        ) as g
        where w.partition = v_row.partition
          and w.position = g.position;
      end if;
      v_row.owner := p_runtime;
      v_row.epoch := v_row.epoch + 1;
    end if;

    v_settle := v_step -> 'settle';
    if v_settle is not null and jsonb_typeof(v_settle) = 'object' then
      -- Most settlements have nothing to say about single messages.
      if v_row.has_waiting
        or jsonb_array_length(v_settle -> 'dead') + jsonb_array_length(v_settle -> 'deferred') > 0
      then
        perform outbox_settle(v_row.partition, v_settle, v_clock);
      end if;
      v_row.cursor := (v_settle ->> 'to')::bigint;
      v_row.seq := v_row.seq + (v_settle ->> 'passed')::bigint;
      v_row.done := array(select jsonb_array_elements_text(v_settle -> 'done')::bigint);
      v_row.failed := array(select jsonb_array_elements_text(v_settle -> 'failed')::bigint);
      v_row.failures := array(select jsonb_array_elements_text(v_settle -> 'failures')::integer);
      v_row.later := array(select jsonb_array_elements_text(v_settle -> 'later')::bigint);
      v_row.later_at := array(select jsonb_array_elements_text(v_settle -> 'laterAt')::bigint);
      v_row.due_at := (v_settle ->> 'dueAt')::bigint;
      v_row.has_waiting := v_row.has_waiting or jsonb_array_length(v_settle -> 'deferred') > 0;
    end if;

    v_read := (v_step ->> 'read')::integer;
    v_messages := 0;
    v_due := 0;
    v_is_blocked := false;
    if v_read > 0 then
      -- Up to where it can be read: null when an open transaction may have added something anywhere.
      v_horizon := v_last;
      if v_keys is not null then
        select
          count(*) > 0,
          case
            when count(*) > count(g.position) then null
            else coalesce(least(v_last, min(g.position) - 1), v_last)
          end
        into v_is_blocked, v_horizon
        from unnest(v_keys, v_positions) as g (key, position)
        where g.key >> 16 = v_row.partition / 16
          and g.key & (1 << (v_row.partition % 16)) <> 0;
      end if;
      if v_row.due_at is null or v_row.due_at <= v_clock then
        v_row.due_at := null;
        -- Up to the first message whose time has not come.
        v_later := null;
        if v_row.later <> '{}' then
          select g.position, g.at
          into v_later, v_later_at
          from unnest(v_row.later, v_row.later_at) as g (position, at)
          where g.at > v_clock
          order by g.position
          limit 1;
        end if;
        return query
        select
          v_place, m.position, coalesce(m.id, m.position), v_row.seq + m.ordinal, m.key, m.payload,
          m.headers, m.enqueued_at, m.expires_at,
          coalesce(v_row.failures[array_position(v_row.failed, m.position)], 0), false,
          v_row.has_waiting and exists (
            select from outbox_waiting as w
            where w.partition = v_row.partition
              and w.key = m.key
          )
        from (
          select
            m.*,
            row_number() over (order by m.position) as place,
            sum(octet_length(m.payload)) over (order by m.position) as bytes
          from (
            -- Those that are done have a number, too.
            select m.*, row_number() over (order by m.position) as ordinal
            from (
              select m.*
              from outbox_messages as m
              where m.partition = v_row.partition
                and m.position > v_row.cursor
                and m.position <= v_horizon
                and (v_later is null or m.position < v_later)
              order by m.position
              limit v_read + cardinality(v_row.done)
            ) as m
          ) as m
          where not m.position = any (v_row.done)
        ) as m
        where m.bytes <= :MAX_OUTBOX_READ_BYTES
          or m.place = 1
        order by m.position;
        get diagnostics v_messages = row_count;
        -- Nothing comes before it any more, so the partition waits for it. It was read before: no open
        -- transaction adds anything before it.
        if v_messages = 0 and v_later <= v_horizon then
          v_row.due_at := v_later_at;
        end if;
      end if;
      if v_row.has_waiting then
        return query
        select
          v_place, w.position, w.id, w.seq, w.key, w.payload, w.headers, w.enqueued_at,
          w.expires_at, w.failures, true, false
        from (
          select
            w.*,
            row_number() over (order by w.due_at, w.position) as place,
            sum(octet_length(w.payload)) over (order by w.due_at, w.position) as bytes
          from (
            select w.*
            from outbox_waiting as w
            where w.partition = v_row.partition
              and w.due_at <= v_clock
            order by w.due_at, w.position
            limit v_read
          ) as w
        ) as w
        where w.bytes <= :MAX_OUTBOX_READ_BYTES
          or w.place = 1
        order by w.place;
        get diagnostics v_due = row_count;
      end if;
    end if;
    v_row.handed := v_messages;
    v_row.handed_waiting := v_due;
    v_waiting_at := null;
    if v_row.has_waiting then
      v_row.has_waiting := exists (
        select from outbox_waiting as w where w.partition = v_row.partition
      );
      v_waiting_at := (
        select w.due_at
        from outbox_waiting as w
        where w.partition = v_row.partition
          and w.due_at > v_clock
        order by w.due_at
        limit 1
      );
    end if;
    v_is_released := v_step ->> 'release' = 'always'
      or v_step ->> 'release' = 'when-empty' and v_messages + v_due = 0;
    if v_is_released then
      v_row.owner := null;
      v_row.handed := 0;
      v_row.handed_waiting := 0;
      -- No other runtime had it in between. While a transaction stays open, the partitions that wait for it
      -- are claimed again and again, and none of their row versions can be vacuumed.
      if v_is_claim and v_before.owner is null and v_messages + v_due = 0 then
        v_row.epoch := v_before.epoch;
      end if;
    end if;

    update outbox_partitions as p
    set owner = v_row.owner,
        epoch = v_row.epoch,
        cursor = v_row.cursor,
        seq = v_row.seq,
        handed = v_row.handed,
        handed_waiting = v_row.handed_waiting,
        done = v_row.done,
        failed = v_row.failed,
        failures = v_row.failures,
        later = v_row.later,
        later_at = v_row.later_at,
        due_at = v_row.due_at,
        has_waiting = v_row.has_waiting
    where p.partition = v_row.partition
      and v_row is distinct from v_before;

    return query
    select
      v_place, null::bigint, null::bigint, null::bigint, null,
      json_build_object(
        'state', 'ok',
        'epoch', v_row.epoch,
        'cursor', v_row.cursor,
        'done', v_row.done,
        'failed', v_row.failed,
        'failures', v_row.failures,
        'later', v_row.later,
        'laterAt', v_row.later_at,
        'abandoned', v_abandoned,
        'dueAt', least(
          case when v_row.due_at > v_clock then v_row.due_at end, v_waiting_at
        ),
        'isReleased', v_is_released,
        'isBlocked', v_is_blocked,
        'clock', v_clock
      )::text,
      null, null::bigint, null::bigint, null::integer, null::boolean, null::boolean;
  end loop;
end
$$;
