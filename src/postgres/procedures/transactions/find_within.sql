-- find() for one id, as one text of JSON, for transactions of users: through their drivers, answers have
-- one text column. Sees what the same transaction did before.
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
      -- Booleans as the driver returns them: t or f.
      case when e.key in ('held', 'scheduled') then left(e.value, 1) else e.value end
    )
    from find(p_id, 1) as f
    cross join lateral json_each_text(row_to_json(f)) as e
  );
end
$$;
