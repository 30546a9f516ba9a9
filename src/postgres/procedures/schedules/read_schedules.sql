-- The schedules with these names, or all if p_names is null, by name: a JSON list.
create or replace function read_schedules(p_names text, p_count integer, out schedules text)
  language plpgsql
  stable
  -- All of them are read through.
  set enable_seqscan to on
as $$
begin
  if p_names is null then
    schedules := (select json_agg(schedule_json(s) order by s.name) from schedules as s);
  else
    schedules := (
      select json_agg(schedule_json(s) order by s.name)
      from unnest(split_texts(p_names, p_count)) as g (name)
      join schedules as s on s.name = g.name collate "C"
    );
  end if;
  schedules := coalesce(schedules, '[]');
end
$$;
