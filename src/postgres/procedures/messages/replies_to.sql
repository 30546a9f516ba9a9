-- Replies to requests. `place` counts from 1; requests without a reply have no row.
create or replace function replies_to(p_tos text, p_count integer)
  returns table (place bigint, value text)
  language plpgsql
  stable
as $$
#variable_conflict use_column
begin
  return query
  select g.place, r.payload
  from unnest(split_texts(p_tos, p_count)) with ordinality as g (reply_to, place)
  join replies as r on r.reply_to = g.reply_to collate "C";
end
$$;
