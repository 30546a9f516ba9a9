-- Records what the owner is about to do with a quarantined instance. Returns whether it still owns it.
create or replace function about_to(
  p_runtime integer,
  p_iid bigint,
  p_epoch integer,
  p_doing text,
  out owned boolean
)
  language plpgsql
  volatile
as $$
declare
  v_alive boolean := enter(p_runtime);
begin
  perform be_durable();
  update runs
  set doing = nullif(p_doing, '')
  where v_alive
    and iid = p_iid
    and owner = p_runtime
    and epoch = p_epoch
    and not held;
  owned := found;
end
$$;
