-- find() of one id, as one text of JSON, for transactions of users: through their drivers, answers
-- have one column of text. Sees what the same transaction did before.
--
-- Settings: any plan.
create or replace function find_within(p_id text, out answer text)
  language plpgsql
  stable
as $$
begin
  answer := (
    select json_object_agg(
      e.key,
      -- As the wire has truths.
      case when e.key in ('held', 'scheduled') then left(e.value, 1) else e.value end
    )
    from find(p_id, 1) as f
    cross join lateral json_each_text(row_to_json(f)) as e
  );
end
$$;
