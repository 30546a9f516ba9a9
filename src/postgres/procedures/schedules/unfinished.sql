-- Those of these instances that have not ended, in the order given.
--
-- Settings: its caller's.
create or replace function unfinished(p_iids bigint[])
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select g.iid
    from unnest(p_iids) with ordinality as g (iid, place)
    -- The limit keeps the order of the join: from the few that are given to the runs.
    cross join lateral (
      select
      from runs as r
      where r.iid = g.iid
      limit 1
    ) as run
    order by g.place
  );
end
$$;
