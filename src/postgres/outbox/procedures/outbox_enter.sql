-- Announces that this transaction adds messages to these partitions, before any of them gets a position. Call
-- outbox_note_position() with the first position afterwards if this returns true. Readers see both locks, and
-- read no position that an open transaction may still fill: see outbox_adders().
--
-- A key of 32 bits stands for up to 16 partitions: their group, and a bit for each. So a transaction that
-- adds to many partitions takes few locks, and readers still know exactly which ones it may add to. It takes
-- none twice: a setting of the transaction says which partitions it has announced. A rollback to a savepoint
-- undoes the setting together with the locks.
--
-- Settings: its caller's.
create or replace function outbox_enter(p_partitions integer[])
  returns boolean
  language plpgsql
  volatile
as $$
declare
  v_setting text := 'holdfast.outbox_' || 'outbox_partitions'::regclass::oid;
  v_entered text := coalesce(current_setting(v_setting, true), '');
  v_new integer[];
begin
  v_new := array(
    select distinct p
    from unnest(p_partitions) as p
    where position(',' || p || ',' in v_entered) = 0
  );
  if cardinality(v_new) = 0 then
    return false;
  end if;
  perform pg_advisory_xact_lock_shared(outbox_lock_space(), g.key)
  from (
    -- In 64 bits, and then in the range of a signed integer.
    select (((p / 16)::bigint << 16) + bit_or(1 << (p % 16)) - 2147483648)::integer as key
    from unnest(v_new) as p
    group by p / 16
  ) as g;
  perform set_config(v_setting, v_entered || ',' || array_to_string(v_new, ',') || ',', true);
  return true;
end
$$;
