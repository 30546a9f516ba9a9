-- The sort key of a version, as latestOf() in versions.ts orders them: every release comes after every
-- pre-release. A number sorts by its length, then by its digits. Compare it in the collation "C".
--
-- Settings: its caller's.
create or replace function version_rank(p_version text)
  returns text[]
  language sql
  immutable
as $$
  select
    array[case when strpos(p_version, '-') = 0 then '1' else '0' end]
    || array(
      select lpad(length(n.part)::text, 6, '0') || n.part
      from unnest(string_to_array(split_part(p_version, '-', 1), '.')) with ordinality
        as n (part, place)
      order by n.place
    )
    || array(
      select
        case
          when i.part ~ '^[0-9]+$' then '0' || lpad(length(i.part)::text, 6, '0') || i.part
          else '1' || i.part
        end
      from unnest(string_to_array(nullif(substr(p_version, strpos(p_version || '-', '-') + 1), ''), '.'))
        with ordinality as i (part, place)
      order by i.place
    )
$$;
