-- One letter for each of p_iids, in order: t if it is in p_true, otherwise f.
--
-- Settings: any plan.
create or replace function flags(p_iids bigint[], p_true bigint[])
  returns text
  language plpgsql
  immutable
as $$
begin
  return (
    select coalesce(
      string_agg(case when t.iid is null then 'f' else 't' end, '' order by g.place),
      ''
    )
    from unnest(p_iids) with ordinality as g (iid, place)
    left join unnest(p_true) as t (iid) on t.iid = g.iid
  );
end
$$;
