import { functionsOf } from './schema-conflicts.ts'
import type { SqlFile } from './sql-file.ts'

// Settings that all procedures have, added when they are created.
//
// `jit`: what we call is short, and planned once. A server that compiles it (as those of Debian and of
// most providers may, by their estimate of its cost) spends hundreds of milliseconds on a statement of
// one. On the function, because a setting of the session would stay there for others.

/**
 * SQL that gives all procedures of ours in the current schema the settings that they lack. Those
 * without any settings are only called by others, whose settings hold for them as well: each that a
 * function sets costs something at every call.
 */
export function settingsSql(procedures: readonly SqlFile[]): string {
  const names = functionsOf(procedures).map((name) => `'${name}'`)
  return `do $settings$
declare
  v_procedure regprocedure;
begin
  for v_procedure in
    select p.oid
    from pg_proc as p
    where p.pronamespace = quote_ident(current_schema())::regnamespace
      and p.proname = any (array[${names.join(', ')}]::text[])
      and p.proconfig is not null
      and not 'jit=off' = any (p.proconfig)
  loop
    execute format('alter function %s set jit to off', v_procedure);
  end loop;
end
$settings$;`
}
