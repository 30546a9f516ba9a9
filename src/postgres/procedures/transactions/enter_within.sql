-- Marks the transaction of a user as one in which start_within() and post_within() may write: they are
-- given the same token. The mark ends with the transaction, so outside of one it is gone at once.
-- Answers with the isolation of the transaction. Changes nothing that the user could notice.
--
-- Settings: any plan.
create or replace function enter_within(p_token text, out isolation text)
  language plpgsql
  volatile
as $$
begin
  perform set_config('holdfast.within', p_token, true);
  isolation := current_setting('transaction_isolation');
end
$$;
