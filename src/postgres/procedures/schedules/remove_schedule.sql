-- Deletes a schedule; returns whether there was one. Its instances continue.
create or replace function remove_schedule(p_name text, out removed boolean)
  language plpgsql
  volatile
as $$
begin
  perform be_durable();
  delete from schedules
  where name = p_name collate "C";
  removed := found;
end
$$;
