-- Removes dead letters that are resolved or discarded. Returns how many.
create or replace function outbox_cleanup_letters(p_from integer, p_to integer, p_limit bigint)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_count bigint;
begin
  perform require_fresh_snapshots();
  perform be_durable();
  with taken as materialized (
    select l.letter
    from outbox_dead_letters as l
    where l.state in ('resolved', 'discarded')
      and (p_from is null or l.partition between p_from and p_to)
    order by l.failed_at, l.letter
    limit p_limit
    for update skip locked
  )
  delete from outbox_dead_letters as l
  using taken as t
  where l.letter = t.letter;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
