-- The numbers of instances by their ids, in the order given; null for unknown ones.
create or replace function iids_of(p_ids text, p_count integer)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select i.iid
    from unnest(split_texts(p_ids, p_count)) with ordinality as g (id, place)
    left join instances as i on i.id = g.id collate "C"
    order by g.place
  );
end
$$;
