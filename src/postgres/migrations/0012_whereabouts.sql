-- What people want to know of activities that do not end: for whereabouts().
-- Works with 0004.

-- When its holder took it; null for what nobody holds, and for what a version holds that does not
-- know of this column.
alter table tasks add column held_since bigint;
-- What its last attempt failed with, encoded; null for nothing.
alter table tasks add column error text;
-- The tags that a runtime serves and the activities that it was given, as JSON; null for one of a
-- version that does not tell.
alter table runtimes add column serves text;

-- Takes one thing more from now on, with a default: those who do not know of it call the new one.
drop function if exists register;
