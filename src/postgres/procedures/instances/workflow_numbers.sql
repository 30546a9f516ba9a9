-- The numbers of workflows, in the order given; new workflows get one, and each name gets a row without a
-- version: for limits and lists.
--
-- Settings: any plan.
create or replace function workflow_numbers(
  p_names text,
  p_versions text,
  p_count integer,
  out numbers integer[]
)
  language plpgsql
  volatile
as $$
declare
  v_names text[] := split_texts(p_names, p_count);
  v_versions text[] := split_texts(p_versions, p_count);
begin
  perform require_fresh_snapshots();
  insert into workflows (name, version)
  select g.name, g.version
  from (
    select n.name, n.version
    from unnest(v_names, v_versions) as n (name, version)
    union all
    select n.name, ''
    from unnest(v_names) as n (name)
  ) as g
  -- An insert that conflicts would use up a number.
  left join workflows as w on w.name = g.name and w.version = g.version
  where w.workflow is null
  group by g.name, g.version
  order by g.version = '', g.name, g.version
  on conflict do nothing;

  numbers := array(
    select w.workflow
    from unnest(v_names, v_versions) with ordinality as g (name, version, place)
    join workflows as w on w.name = g.name and w.version = g.version
    order by g.place
  );
end
$$;
