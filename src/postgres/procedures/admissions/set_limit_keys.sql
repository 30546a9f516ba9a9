-- Records the keys of instances that were started without one. The first that is recorded counts.
create or replace function set_limit_keys(p_iids bigint[], p_limit_keys text, out changed bigint)
  language plpgsql
  volatile
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_limit_keys text[] := split_texts(p_limit_keys, cardinality(p_iids));
begin
  perform require_fresh_snapshots();
  perform be_durable();
  update admissions as a
  set limit_key = g.limit_key
  from unnest(p_iids, v_limit_keys) as g (iid, limit_key)
  where a.iid = g.iid
    and a.limit_key is null;
  get diagnostics changed = row_count;
end
$$;
