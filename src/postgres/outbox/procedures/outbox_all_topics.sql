-- All topics that are registered.
--
-- Settings: any plan.
create or replace function outbox_all_topics()
  returns setof outbox_topics
  language plpgsql
  volatile
as $$
begin
  return query select t.* from outbox_topics as t order by t.first;
end
$$;
