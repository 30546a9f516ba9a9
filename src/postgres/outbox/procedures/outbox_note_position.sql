-- Announces the first position that this transaction got after outbox_enter(): as a lock, since nothing else
-- of an open transaction can be seen by others. The lower 32 bits are enough, see outbox_adders().
--
-- Settings: its caller's.
create or replace function outbox_note_position(p_position bigint)
  returns void
  language plpgsql
  volatile
as $$
begin
  perform pg_advisory_xact_lock_shared(
    outbox_position_space(), ((p_position & 4294967295) - 2147483648)::integer
  );
end
$$;
