-- Adds the labels of new instances, for search(). p_labels are those of p_iids, as JSON.
--
-- Settings: its caller's.
create or replace function note_labels(
  p_clock bigint,
  p_born bigint[],
  p_iids bigint[],
  p_labels text[]
)
  returns void
  language plpgsql
  volatile
as $$
begin
  insert into labels (label, created_at, iid)
  select label_key(l.key, l.value), p_clock, g.iid
  from unnest(p_iids, p_labels) as g (iid, labels)
  join unnest(p_born) as b (iid) on b.iid = g.iid
  cross join lateral jsonb_each_text(g.labels::jsonb) as l
  where g.labels <> '{}'
  -- Names that differ may share a key.
  on conflict do nothing;
end
$$;
