-- The lines that these instances belong to, as far as they are not admitted; limit_key is null for those
-- whose key is not known yet.
create or replace function lines_of(p_iids bigint[])
  returns table (workflow integer, limit_key text, iids bigint[])
  language plpgsql
  volatile
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
#variable_conflict use_column
begin
  return query
  select a.workflow, a.limit_key, array_agg(a.iid)
  from unnest(p_iids) as g (iid)
  cross join lateral (
    select a.iid, a.workflow, a.limit_key
    from admissions as a
    where a.iid = g.iid
      and a.state < :ADMISSION.admitted
    limit 1
  ) as a
  group by a.workflow, a.limit_key;
end
$$;
