-- post() one by one, skipping messages whose rows another transaction has locked, and later ones for the
-- same instance: the answer for each of these is l. Called after post_nowait() failed.
--
-- After 20 ms the answer for the rest is n, not tried, so that the caller does not wait long; it sends
-- these again. The first is always tried.
create or replace function post_skip_locked(
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
  set lock_timeout to '1ms'
as $$
declare
  v_until timestamptz;
  v_clock bigint := now_ms();
  v_size integer := cardinality(p_iids);
  v_ids text[] := split_texts(p_ids, v_size);
  v_names text[] := split_texts(p_names, v_size);
  v_payloads text[] := split_texts(p_payloads, v_size);
  v_reply_tos text[] := split_texts(p_reply_tos, v_size);
  v_keys text[] := split_texts(p_keys, v_size);
  v_locked text[] := '{}';
  v_letter text;
  v_one record;
begin
  perform require_fresh_snapshots();
  perform be_durable();
  verdicts := '';
  v_until := clock_timestamp() + interval '20 ms';
  for n in 1 .. v_size loop
    if v_ids[n] = any (v_locked) then
      v_letter := :POST_VERDICT.locked;
    elsif n > 1 and clock_timestamp() >= v_until then
      v_letter := :POST_VERDICT.untried;
    else
      begin
        select a.*
        into v_one
        from post_any(
          v_ids[n], p_kinds[n:n], v_names[n], v_payloads[n], v_reply_tos[n], v_keys[n],
          p_capacities[n:n], p_iids[n:n], v_clock
        ) as a;
        verdicts := verdicts || v_one.verdicts;
        iids := iids || v_one.iids;
        owners := owners || v_one.owners;
        continue;
      exception
        when lock_not_available then
          v_letter := :POST_VERDICT.locked;
          v_locked := v_locked || v_ids[n];
      end;
    end if;
    verdicts := verdicts || v_letter;
    iids := iids || 0::bigint;
    owners := owners || null::integer;
  end loop;
end
$$;
