-- Takes in a new runtime.
create or replace function register(
  p_lease_ms bigint,
  p_info text,
  p_names text,
  p_versions text,
  p_count integer,
  out runtime integer,
  out server text,
  out clock bigint,
  out workflows integer[]
)
  language plpgsql
  volatile
  set search_path from current
as $$
#variable_conflict use_column
declare
  v_clock bigint;
begin
  workflows := workflow_numbers(p_names, p_versions, p_count);
  v_clock := now_ms();
  loop
    insert into runtimes (runtime, state, lease_until, registered_at, info, workflows)
    values (
      1 + floor(random() * 2147483646)::integer, 1, v_clock + p_lease_ms, v_clock, p_info,
      workflows
    )
    on conflict do nothing
    returning runtimes.runtime into runtime;
    exit when found;
  end loop;
  server := server_identity();
  clock := v_clock;
end
$$;
