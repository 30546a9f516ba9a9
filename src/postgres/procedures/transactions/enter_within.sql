-- Marks the transaction of a user as one in which start_within() and post_within() may write, if they
-- are given the same token. The mark ends with the transaction; outside of one it is lost at once.
-- Returns the isolation of the transaction. Has no effect that the user could notice.
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
