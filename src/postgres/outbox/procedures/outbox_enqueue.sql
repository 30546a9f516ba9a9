-- Stores messages in the transaction of a user. Null, without any effect, when there is no transaction:
-- it would commit on its own. There is one when the token was set by enter_within(), or when something
-- was written before: a statement by itself has written nothing at this point.
--
-- Returns the ids, and for each a 1 if it is a duplicate.
--
-- Settings: any plan.
create or replace function outbox_enqueue(
  p_token text,
  p_partitions text,
  p_topics text,
  p_delays text,
  p_ttls text,
  -- Empty for none, like headers and dedupe keys.
  p_keys text,
  p_payloads text,
  p_headers text,
  p_dedupe_keys text,
  p_notify text,
  out answer text
)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_partitions integer[] := p_partitions::integer[];
  v_delays bigint[] := p_delays::bigint[];
  v_size integer := cardinality(v_partitions);
  v_clock bigint;
  v_dedupe_keys text[];
  v_ids bigint[];
  v_duplicates boolean[] := array_fill(false, array[v_size]);
  v_added integer[];
  v_delayed integer[];
  v_due_at bigint;
  v_is_new boolean;
  v_first bigint;
begin
  if coalesce(current_setting('holdfast.within', true), '') <> p_token
    and pg_current_xact_id_if_assigned() is null
  then
    return;
  end if;
  perform be_durable();
  v_clock := now_ms();

  -- The usual case by itself, which costs a third.
  if v_size = 1 and v_delays[1] = 0 and p_dedupe_keys = '' then
    -- Before the position is given out: see outbox_adders().
    v_is_new := outbox_enter(v_partitions);
    v_first := nextval('outbox_positions');
    if v_is_new then
      perform outbox_note_position(v_first);
    end if;
    insert into outbox_messages (partition, position, enqueued_at, expires_at, key, payload, headers)
    values (
      v_partitions[1], v_first, v_clock, v_clock + (p_ttls::bigint[])[1],
      nullif(p_keys, ''), p_payloads, nullif(p_headers, '')
    );
    answer := v_first || ';0';
    if p_notify::boolean then
      perform outbox_notify(v_partitions, 0, v_clock);
    end if;
    return;
  end if;

  -- Before positions are given out: see outbox_adders().
  v_is_new := outbox_enter(v_partitions);
  v_ids := array(select nextval('outbox_positions') from generate_series(1, v_size));
  if v_is_new then
    perform outbox_note_position(v_ids[1]);
  end if;

  if p_dedupe_keys <> '' and replace(p_dedupe_keys, e'\x01', '') <> '' then
    v_dedupe_keys := split_texts(p_dedupe_keys, v_size);
    -- In the order of the keys: two transactions that add the same ones do not lock each other out.
    insert into outbox_keys (topic, key, id, at)
    select g.topic, g.key, g.id, v_clock
    from (
      select distinct on (topic, key) g.topic, g.key, g.id
      from unnest(p_topics::integer[], v_dedupe_keys, v_ids) with ordinality
        as g (topic, key, id, place)
      where g.key <> ''
      order by g.topic, g.key, g.place
    ) as g
    order by g.topic, g.key
    on conflict do nothing;
    -- A new statement: it sees a row that the insert waited for.
    select array_agg(coalesce(k.id, g.id) order by g.place),
      array_agg(coalesce(k.id <> g.id, false) order by g.place)
    into v_ids, v_duplicates
    from unnest(p_topics::integer[], v_dedupe_keys, v_ids) with ordinality
      as g (topic, key, id, place)
    left join outbox_keys as k
      on k.topic = g.topic
      and k.key = g.key
      and g.key <> '';
  end if;

  with added as (
    insert into outbox_messages (partition, position, enqueued_at, expires_at, key, payload, headers)
    select
      g.partition, g.id, v_clock, v_clock + g.ttl_ms, nullif(g.key, ''), g.payload,
      nullif(g.headers, '')
    from unnest(
      v_partitions, v_ids, v_duplicates, v_delays, p_ttls::bigint[], split_texts(p_keys, v_size),
      split_texts(p_payloads, v_size), split_texts(p_headers, v_size)
    ) as g (partition, id, is_duplicate, delay_ms, ttl_ms, key, payload, headers)
    where g.delay_ms = 0
      and not g.is_duplicate
    returning partition
  )
  select array_agg(distinct partition) into v_added from added;

  if exists (select from unnest(v_delays) as d where d > 0) then
    with delayed as (
      insert into outbox_delayed (due_at, id, partition, enqueued_at, ttl_ms, key, payload, headers)
      select
        v_clock + g.delay_ms, g.id, g.partition, v_clock, g.ttl_ms, nullif(g.key, ''), g.payload,
        nullif(g.headers, '')
      from unnest(
        v_partitions, v_ids, v_duplicates, v_delays, p_ttls::bigint[], split_texts(p_keys, v_size),
        split_texts(p_payloads, v_size), split_texts(p_headers, v_size)
      ) as g (partition, id, is_duplicate, delay_ms, ttl_ms, key, payload, headers)
      where g.delay_ms > 0
        and not g.is_duplicate
      returning partition, due_at
    )
    select array_agg(distinct partition), min(due_at) into v_delayed, v_due_at from delayed;
  end if;

  if p_notify::boolean then
    if v_added is not null then
      perform outbox_notify(v_added, 0, v_clock);
    end if;
    if v_delayed is not null then
      perform outbox_notify(v_delayed, v_due_at, v_clock);
    end if;
  end if;
  answer := array_to_string(v_ids, ',') || ';'
    || (select string_agg(d::integer::text, '' order by place)
        from unnest(v_duplicates) with ordinality as g (d, place));
end
$$;
