-- post() in a transaction that the user commits; see start_within(). Returns JSON with string values.
--
-- Settings: any plan.
create or replace function post_within(
  p_token text,
  p_ids text,
  p_kinds text,
  p_names text,
  p_payloads text,
  p_reply_tos text,
  p_keys text,
  p_capacities text,
  p_iids text,
  p_tell text,
  out answer text
)
  language plpgsql
  volatile
as $$
declare
  v_posted record;
begin
  if current_setting('holdfast.within', true) = p_token then
    select a.*
    into v_posted
    from post(
      p_ids, p_kinds::smallint[], p_names, p_payloads, p_reply_tos, p_keys,
      p_capacities::integer[], p_iids::bigint[]
    ) as a;
    answer := json_build_object(
      'verdicts', v_posted.verdicts,
      'iids', v_posted.iids::text,
      'owners', v_posted.owners::text
    );
    if p_tell::boolean then
      perform tell_within(v_posted.iids, false);
    end if;
  end if;
end
$$;
