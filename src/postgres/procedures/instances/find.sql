-- Instances by their ids, as instance_rows() returns them.
create or replace function find(p_ids text, p_count integer)
  returns table (
    place bigint,
    iid bigint,
    id text,
    name text,
    version text,
    execution integer,
    status smallint,
    held boolean,
    scheduled boolean,
    wake_at bigint,
    created_at bigint,
    updated_at bigint,
    finished_at bigint,
    output text,
    report text,
    parent_iid bigint,
    parent_id text,
    parent_execution integer,
    parent_command integer,
    on_close smallint,
    labels text,
    progress text,
    mail bigint,
    progress_version integer
  )
  language plpgsql
  stable
as $$
#variable_conflict use_column
begin
  return query
  select f.*
  from instance_rows(iids_of(p_ids, p_count)) as f;
end
$$;
