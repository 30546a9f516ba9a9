-- Whether the messages for unstarted instances have reached MAX_UNSTARTED_IN_ALL, estimated by a sample:
-- for an exact count, all senders would have to lock one row.
--
-- Settings: its caller's.
create or replace function unstarted_is_full()
  returns boolean
  language plpgsql
  volatile
as $$
begin
  return (
    select count(*) >= :MAX_UNSTARTED_SAMPLED
    from (select from inbox as m where m.early and m.id % :UNSTARTED_SAMPLE = 0 limit :MAX_UNSTARTED_SAMPLED) as sample
  );
end
$$;
