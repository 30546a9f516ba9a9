-- Whether as many messages wait for instances that were never started as are kept in all: about a
-- million. Estimated by a sample of one in 1021 (a prime, so that no pattern of ids evades it). To count
-- them, senders would have to lock one row.
--
-- Settings: its caller's.
create or replace function early_is_full()
  returns boolean
  language plpgsql
  volatile
as $$
begin
  return (
    select count(*) >= 980
    from (select from inbox as m where m.early and m.id % 1021 = 0 limit 980) as sample
  );
end
$$;
