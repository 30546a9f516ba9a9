-- post() with a lock timeout: if another transaction has locked one of the ids, or the key of a
-- message, it fails with 55P03 (lock_not_available), without any effect. Not immediately, since two
-- sends at once need only a moment.
--
-- Settings: any plan.
create or replace function post_nowait(
  p_ids text,
  p_kinds smallint[],
  p_names text,
  p_payloads text,
  p_reply_tos text,
  p_keys text,
  p_capacities integer[],
  p_iids bigint[],
  out verdicts text,
  out iids bigint[],
  out owners integer[]
)
  language plpgsql
  volatile
  set lock_timeout to '5ms'
as $$
begin
  select p.verdicts, p.iids, p.owners
  into verdicts, iids, owners
  from post(p_ids, p_kinds, p_names, p_payloads, p_reply_tos, p_keys, p_capacities, p_iids) as p;
end
$$;
