-- Whether runtimes can notify each other: a part of doctor().
--
-- Settings: any plan.
create or replace function doctor_hints()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
as $$
declare
  v_usage double precision := pg_notification_queue_usage();
  v_listeners bigint := (
    select count(*)
    from pg_stat_activity as a
    where a.datname = current_database()
      and (a.application_name = 'holdfast hints' or a.query like 'listen "holdfast\_%')
  );
begin
  if v_usage > 0.1 then
    return query
    select
      case when v_usage > 0.5 then 'error' else 'warning' end,
      'hints',
      format(
        'the notification queue is %s %% full, because a listening session stays in a transaction; '
        'when it is full, no transaction that notifies can commit',
        round(v_usage * 100)
      ),
      'end that session: the log of the server has its pid';
  else
    return query
    select
      'ok', 'hints',
      format('%s sessions of this database listen, for whichever schema', v_listeners), '';
  end if;
end
$$;
