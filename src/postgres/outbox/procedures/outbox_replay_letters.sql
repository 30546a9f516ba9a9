-- Takes dead letters for a replay: pending ones, and those whose replay missed its deadline. Another
-- process that replays at the same time gets others.
create or replace function outbox_replay_letters(
  p_from integer,
  p_to integer,
  p_limit bigint,
  p_deadline_ms bigint
)
  returns setof outbox_dead_letters
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
begin
  perform require_fresh_snapshots();
  perform be_durable();
  return query
  with taken as materialized (
    select l.letter
    from outbox_dead_letters as l
    where (l.state = 'pending' or l.state = 'reprocessing' and l.deadline < v_clock)
      and (p_from is null or l.partition between p_from and p_to)
    order by l.failed_at, l.letter
    limit p_limit
    for update skip locked
  )
  update outbox_dead_letters as l
  set state = 'reprocessing',
      deadline = v_clock + p_deadline_ms
  from taken as t
  where l.letter = t.letter
  returning l.*;
end
$$;
