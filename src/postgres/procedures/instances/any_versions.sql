-- The rows without a version of the same workflows, in the order given: for instances.any_version.
--
-- Settings: its caller's.
create or replace function any_versions(p_workflows integer[])
  returns integer[]
  language plpgsql
  stable
as $$
begin
  if p_workflows[1] = all (p_workflows) then
    return array_fill(
      (
        select named.workflow
        from workflows as w
        join workflows as named on named.name = w.name and named.version = ''
        where w.workflow = p_workflows[1]
      ),
      array[cardinality(p_workflows)]
    );
  end if;
  return array(
    select (
      select named.workflow
      from workflows as w
      join workflows as named on named.name = w.name and named.version = ''
      where w.workflow = g.workflow
    )
    from unnest(p_workflows) with ordinality as g (workflow, place)
    order by g.place
  );
end
$$;
