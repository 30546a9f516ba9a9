-- How often the progress of an instance was set.
-- Works with 0006.

-- Null for 0: takes no room in instances without progress.
alter table instances add column progress_version integer;
update instances
set progress_version = 1
where progress is not null;

-- These answer more from now on.
drop function if exists instance_rows;
drop function if exists find;
