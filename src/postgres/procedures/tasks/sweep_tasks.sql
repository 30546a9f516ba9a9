-- Removes tasks that were locked when they were dropped, and are not any more. Bounded, as sweep() is.
create or replace function sweep_tasks()
  returns void
  language plpgsql
  volatile
as $$
declare
  v_numbers bigint[];
begin
  with unwanted as materialized (
    select u.number, u.iid, u.execution, u.command
    from unwanted_tasks as u
    order by u.number
    limit 1000
    for update skip locked
  ),
  free as materialized (
    select t.*
    from unwanted as u
    cross join lateral (
      select t.number, t.iid, t.execution, t.command
      from tasks as t
      where t.iid = u.iid
        and t.execution = u.execution
        and t.command = u.command
      limit 1
      for update skip locked
    ) as t
    -- Another task may have the same key by now.
    where t.number = u.number
  ),
  removed as (
    delete from tasks as t
    using free as f
    where t.iid = f.iid
      and t.execution = f.execution
      and t.command = f.command
  )
  select array_agg(u.number)
  into v_numbers
  from unwanted as u
  where u.number = any (array(select f.number from free as f))
    or u.number is distinct from (
      select t.number
      from tasks as t
      where t.iid = u.iid
        and t.execution = u.execution
        and t.command = u.command
    );

  if v_numbers is not null then
    delete from unwanted_tasks
    where number = any (v_numbers);
  end if;
end
$$;
