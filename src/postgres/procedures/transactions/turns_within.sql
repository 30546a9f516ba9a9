-- turns_of(), as one text of JSON: see find_within().
--
-- Settings: any plan.
create or replace function turns_within(p_iid text, p_execution text, out answer text)
  language plpgsql
  stable
as $$
begin
  answer := (
    select json_agg(
      (select json_object_agg(e.key, e.value) from json_each_text(row_to_json(t)) as e)
      order by t.number
    )
    from turns_of(p_iid::bigint, p_execution::integer) as t
  );
end
$$;
