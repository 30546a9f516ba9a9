-- Results name the task they belong to. Numbers of instances, executions and commands are used again
-- after a failover that lost the latest writes; tokens are random, and are not.
-- Works with 0006.

-- Null for what a version made that does not know of them.
alter table tasks add column token bigint;

-- These take or answer more from now on.
drop function if exists finish_tasks;
drop function if exists held_tasks;
drop function if exists are_held;
drop function if exists beat_tasks;
drop function if exists begin_transaction;
drop function if exists finish_transaction;
drop function if exists may_transact;
drop function if exists send;
