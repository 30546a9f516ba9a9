-- Removes messages that are done, up to a number of them, and returns how many. Need not survive a crash
-- of the server: then they are removed again.
create or replace function outbox_remove_done(p_limit integer, out removed integer)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_partition integer := -1;
  v_count integer;
begin
  perform require_fresh_snapshots();
  perform set_config('synchronous_commit', 'off', true);
  removed := 0;
  loop
    -- The next partition that has messages.
    select m.partition
    into v_partition
    from outbox_messages as m
    where m.partition > v_partition
    order by m.partition
    limit 1;
    exit when not found;
    delete from outbox_messages as m
    using (
      select o.position
      from outbox_messages as o
      where o.partition = v_partition
        and o.position <= (
          select p.cursor from outbox_partitions as p where p.partition = v_partition
        )
      order by o.position
      limit p_limit - removed
    ) as d
    where m.partition = v_partition
      and m.position = d.position;
    get diagnostics v_count = row_count;
    removed := removed + v_count;
    exit when removed >= p_limit;
  end loop;
end
$$;
