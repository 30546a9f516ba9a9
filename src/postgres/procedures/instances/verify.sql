-- Whether the store still has what a runtime has in memory: one letter for each live instance, t or f.
-- The store may have one more turn: the runtime's own, whose answer has not arrived.
create or replace function verify(
  p_runtime integer,
  p_iids bigint[],
  p_epochs integer[],
  p_executions integer[],
  p_turns integer[],
  out server text,
  out same text
)
  language plpgsql
  volatile
as $$
begin
  server := server_identity();
  same := (
    select coalesce(
      string_agg(
        case
          when r.iid is not null
            and (
              select true
              from history as h
              where h.iid = c.iid
                and h.execution = c.execution
                and h.turn = c.turn
            )
            then 't'
          else 'f'
        end,
        '' order by c.place
      ),
      ''
    )
    from unnest(p_iids, p_epochs, p_executions, p_turns) with ordinality
      as c (iid, epoch, execution, turn, place)
    left join runs as r
      on r.iid = c.iid
      and r.owner = p_runtime
      and r.epoch = c.epoch
  );
end
$$;
