-- Registers topics that are unknown, with consecutive numbers for their partitions, and returns each as
-- it is stored: another number of partitions is the caller's error.
--
-- Settings: any plan.
create or replace function outbox_register_topics(p_names text, p_counts integer[])
  returns table (topic integer, name text, first integer, partitions integer)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_names text[] := split_texts(p_names, cardinality(p_counts));
  v_new record;
begin
  perform require_fresh_snapshots();
  if exists (
    select from unnest(v_names) as g (name)
    where not exists (select from outbox_topics as t where t.name = g.name)
  ) then
    perform be_durable();
    -- One registration at a time, since each continues the numbers of the one before. Readers go on.
    lock table outbox_topics in share row exclusive mode;
    for v_new in
      select g.name, g.count
      from unnest(v_names, p_counts) with ordinality as g (name, count, place)
      where not exists (select from outbox_topics as t where t.name = g.name)
      order by g.place
    loop
      with registered as (
        insert into outbox_topics (name, first, partitions)
        select v_new.name, coalesce(max(t.first + t.partitions), 0), v_new.count
        from outbox_topics as t
        on conflict do nothing
        returning topic, first, partitions
      )
      insert into outbox_partitions (partition, topic)
      select r.first + i, r.topic
      from registered as r
      cross join generate_series(0, r.partitions - 1) as i;
    end loop;
  end if;
  return query
  select t.topic, t.name, t.first, t.partitions
  from unnest(v_names) with ordinality as g (name, place)
  join outbox_topics as t on t.name = g.name
  order by g.place;
end
$$;
