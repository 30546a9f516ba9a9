-- Puts dead letters back into their partitions, behind all other messages, and removes them. Returns the
-- partitions.
create or replace function outbox_requeue_letters(
  p_letters bigint[],
  out requeued integer[]
)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_letters bigint[];
  v_first bigint;
begin
  perform require_fresh_snapshots();
  perform be_durable();
  select array_agg(l.letter order by l.letter), array_agg(l.partition order by l.letter)
  into v_letters, requeued
  from (
    select l.letter, l.partition
    from outbox_dead_letters as l
    where l.letter = any (p_letters)
      and l.state in ('pending', 'reprocessing')
    order by l.letter
    for update
  ) as l;
  if v_letters is null then
    requeued := '{}';
    return;
  end if;
  -- Before positions are given out: see outbox_adders().
  perform outbox_enter(requeued);
  v_first := nextval('outbox_positions');
  perform outbox_note_position(v_first);
  with removed as (
    delete from outbox_dead_letters as l
    where l.letter = any (v_letters)
    returning l.*
  )
  insert into outbox_messages (partition, position, id, enqueued_at, key, payload, headers)
  select r.partition, nextval('outbox_positions'), r.id, r.enqueued_at, r.key, r.payload, r.headers
  from (select * from removed order by partition, seq, letter) as r;
  perform outbox_notify(requeued, 0, now_ms());
end
$$;
