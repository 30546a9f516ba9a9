-- Discards pending dead letters, also those whose replay missed its deadline. Returns how many.
create or replace function outbox_discard_letters(p_from integer, p_to integer, p_limit bigint)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
  v_count bigint;
begin
  perform require_fresh_snapshots();
  perform be_durable();
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
  set state = 'discarded',
      completed_at = v_clock,
      deadline = null
  from taken as t
  where l.letter = t.letter;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
