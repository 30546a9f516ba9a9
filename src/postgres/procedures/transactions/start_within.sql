-- start_batch() in a transaction that the user commits. Null, without any effect, outside of the
-- transaction that enter_within() marked with this token: there it would commit on its own.
--
-- Settings: any plan.
create or replace function start_within(
  p_token text,
  p_starts text,
  p_effects text,
  -- Whether to notify a runtime when the transaction is committed.
  p_tell text,
  out answer text
)
  language plpgsql
  volatile
as $$
begin
  if current_setting('holdfast.within', true) = p_token then
    answer := start_batch(p_starts, p_effects);
    if p_tell::boolean then
      perform tell_within(split_part(p_starts, e'\x02', 1)::bigint[], true);
    end if;
  end if;
end
$$;
