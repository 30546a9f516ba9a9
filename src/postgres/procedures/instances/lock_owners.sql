-- Locks runs for a caller that does not own them, and keeps their owners from writing until the end of
-- the transaction: no commit of an owner is running any more, and later ones see what is changed now.
create or replace function lock_owners(p_iids bigint[])
  returns void
  language plpgsql
  volatile
as $$
declare
  v_limit text := current_setting('lock_timeout');
  v_expected integer[];
  v_owner integer;
  v_owners integer[];
begin
  loop
    v_expected := array(
      select distinct r.owner
      from runs as r
      where r.iid = any (p_iids)
        and r.owner is not null
      order by r.owner
    );
    begin
      -- First the owners, as in every commit; then the rows. A commit may take longer than the lock
      -- timeout for rows, which a user may have locked for long.
      perform set_config('lock_timeout', '1s', true);
      foreach v_owner in array v_expected loop
        perform pg_advisory_xact_lock(lock_space(), v_owner);
      end loop;
      perform set_config('lock_timeout', v_limit, true);
      v_owners := array(
        select r.owner
        from runs as r
        where r.iid = any (p_iids)
        order by r.iid
        for update
      );
      if array_remove(v_owners, null) <@ v_expected then
        return;
      end if;
      -- One was claimed in between, and its new owner may be writing. An error releases all locks of
      -- this block, so that the next try takes them in order again.
      raise exception 'an owner has changed' using errcode = 'HF002';
    exception
      when sqlstate 'HF002' then
        null;
    end;
  end loop;
end
$$;
