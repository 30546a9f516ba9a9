-- Removes old dedupe keys and completed dead letters, some of them at a time, and gives back dead letters
-- whose replay missed its deadline. Returns whether there may be more to remove: in a transaction of its
-- own, so that none takes long.
create or replace function outbox_tidy(p_keys_ms bigint, p_letters_ms bigint, out more boolean)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_limit constant integer := 10000;
  v_clock bigint := now_ms();
  v_removed bigint;
begin
  perform require_fresh_snapshots();
  perform set_config('synchronous_commit', 'off', true);
  delete from outbox_keys as k
  using (
    select o.topic, o.key
    from outbox_keys as o
    where o.at < v_clock - p_keys_ms
    order by o.at
    limit v_limit
    for update skip locked
  ) as d
  where k.topic = d.topic
    and k.key = d.key;
  get diagnostics v_removed = row_count;
  more := v_removed >= v_limit;
  delete from outbox_dead_letters as l
  using (
    select o.letter
    from unnest(array['resolved', 'discarded']) as s (state)
    cross join lateral (
      select o.letter
      from outbox_dead_letters as o
      where o.state = s.state
        and o.failed_at < v_clock - p_letters_ms
        and o.completed_at < v_clock - p_letters_ms
      limit v_limit
    ) as o
  ) as d
  where l.letter = d.letter;
  get diagnostics v_removed = row_count;
  more := more or v_removed >= v_limit;
  update outbox_dead_letters as l
  set state = 'pending',
      deadline = null
  where l.state = 'reprocessing'
    and l.deadline < v_clock;
end
$$;
