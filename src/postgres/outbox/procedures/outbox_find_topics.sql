-- Topics that are registered, as JSON: for transactions of users, whose answers have one text column.
--
-- Settings: any plan.
create or replace function outbox_find_topics(p_names text, p_count text, out answer text)
  language plpgsql
  stable
as $$
begin
  answer := (
    select json_agg(json_build_object(
      'topic', t.topic::text, 'name', t.name, 'first', t.first::text, 'partitions', t.partitions::text
    ))
    from outbox_topics as t
    where t.name = any (split_texts(p_names, p_count::integer))
  );
end
$$;
