-- Dead letters, newest first. Locks nothing. Those whose replay missed its deadline are pending, also before
-- outbox_tidy() has written that.
create or replace function outbox_find_letters(
  p_from integer,
  p_to integer,
  p_state text,
  p_limit bigint,
  p_after_failed_at bigint,
  p_after_letter bigint
)
  returns setof outbox_dead_letters
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
begin
  return query
  select
    l.letter, l.partition, l.id, l.seq, l.enqueued_at, l.key, l.payload, l.headers, l.failures, l.reason,
    l.failed_at,
    case when l.deadline < v_clock then 'pending' else l.state end,
    l.completed_at,
    case when l.deadline < v_clock then null else l.deadline end
  from outbox_dead_letters as l
  where (p_from is null or l.partition between p_from and p_to)
    and (
      p_state is null
      or l.state = p_state and (l.deadline is null or l.deadline >= v_clock)
      or p_state = 'pending' and l.state = 'reprocessing' and l.deadline < v_clock
    )
    and (p_after_letter is null or (l.failed_at, l.letter) < (p_after_failed_at, p_after_letter))
  order by l.failed_at desc, l.letter desc
  limit p_limit;
end
$$;
