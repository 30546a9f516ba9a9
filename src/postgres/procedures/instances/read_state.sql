-- Values of state by ids of instances and keys. `place` counts from 1; missing values have no row.
create or replace function read_state(p_ids text, p_keys text, p_count integer)
  returns table (place bigint, value text)
  language plpgsql
  stable
as $$
#variable_conflict use_column
begin
  return query
  select g.place, s.value
  from unnest(split_texts(p_ids, p_count), split_texts(p_keys, p_count)) with ordinality
    as g (id, key, place)
  join instances as i on i.id = g.id collate "C"
  join state as s on s.iid = i.iid and s.key = g.key collate "C";
end
$$;
