-- How many dead letters there are; for their states see outbox_find_letters().
--
-- Settings: any plan.
create or replace function outbox_count_letters(p_from integer, p_to integer, p_state text)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
begin
  return (
    select count(*)
    from outbox_dead_letters as l
    where (p_from is null or l.partition between p_from and p_to)
      and (
        p_state is null
        or l.state = p_state and (l.deadline is null or l.deadline >= v_clock)
        or p_state = 'pending' and l.state = 'reprocessing' and l.deadline < v_clock
      )
  );
end
$$;
