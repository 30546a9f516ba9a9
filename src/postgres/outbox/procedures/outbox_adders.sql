-- The open transactions that add messages: for each group of partitions the key of outbox_enter(), and the
-- first position that the transaction may have. Null if it has not announced one yet, which takes it no longer
-- than a statement.
--
-- Why no message is ever passed over: a transaction locks, then gets positions, then announces the first. It
-- keeps its locks to its end, and they are released after its messages are visible. A reader reads the last
-- position (p_last) first, then the locks, then messages. So a message up to p_last that the reader does not
-- see is of a transaction that was rolled back, or of one whose lock the reader sees: and then it is not before
-- the position that this one announced. Transactions that begin later get later positions.
--
-- Not a query of tables: pg_locks shows the locks of one moment, whatever the snapshot. A prepared transaction
-- keeps its locks.
--
-- Settings: its caller's.
create or replace function outbox_adders(p_last bigint, out keys bigint[], out positions bigint[])
  language plpgsql
  volatile
as $$
declare
  -- pg_locks shows both keys as unsigned numbers.
  v_space oid := (outbox_lock_space()::bigint & 4294967295)::oid;
  v_positions oid := (outbox_position_space()::bigint & 4294967295)::oid;
begin
  with locks as materialized (
    select
      l.classid,
      (l.objid::bigint + 2147483648) & 4294967295 as key,
      l.virtualtransaction as adder
    from pg_locks as l
    where l.locktype = 'advisory'
      and l.classid in (v_space, v_positions)
      and l.objsubid = 2
      and l.database = (select d.oid from pg_database as d where d.datname = current_database())
  ),
  announced as (
    select
      l.adder,
      -- The position below p_last with these lower bits. One that seems very old is later than p_last.
      min(case when d.distance > 2147483648 then p_last + 1 else p_last - d.distance end) as position
    from locks as l
    cross join lateral (select (p_last - l.key) & 4294967295 as distance) as d
    where l.classid = v_positions
    group by l.adder
  )
  select array_agg(l.key), array_agg(a.position)
  into keys, positions
  from locks as l
  left join announced as a on a.adder = l.adder
  where l.classid = v_space;
end
$$;
