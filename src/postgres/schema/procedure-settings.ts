import { functionsOf } from './schema-conflicts.ts'
import type { SqlFile } from './sql-file.ts'

// The settings of procedures. They are added when the procedures are created, so that no file repeats
// them; a file states only what it needs beyond them, such as a lock timeout.
//
// A line in the file says which settings it gets:
//
//   no line                        search_path and jit, and one plan for tables of any size: it is made
//                                  once, without values, and scans no table. Tables start empty, and
//                                  plans are kept.
//   -- Settings: any plan.         search_path and jit: the procedure reads small tables, or only calls
//                                  other procedures.
//   -- Settings: its caller's.     none. Only other procedures call it, and each setting of a function
//                                  costs something at every call.
//
// `jit`: these statements are short, and planned once. A server that compiles them (as Debian's and
// those of most providers do when they estimate a high cost) spends hundreds of milliseconds on a
// statement of one. It is set on the function because a setting of the session would outlast the call.

const SETTINGS = {
  usual:
    'set search_path from current set jit to off ' +
    'set plan_cache_mode to force_generic_plan set enable_seqscan to off',
  'any plan': 'set search_path from current set jit to off',
} as const

/** SQL that gives our procedures in the current schema the settings that they lack. */
export function settingsSql(procedures: readonly SqlFile[]): string {
  return [
    settingsOf(
      'usual',
      procedures.filter(({ settings }) => settings === undefined),
    ),
    settingsOf(
      'any plan',
      procedures.filter(({ settings }) => settings === 'any plan'),
    ),
  ].join('\n\n')
}

function settingsOf(kind: keyof typeof SETTINGS, procedures: readonly SqlFile[]): string {
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
      -- Those that were not created again have their settings.
      and not 'jit=off' = any (coalesce(p.proconfig, '{}'))
  loop
    execute format('alter function %s ${SETTINGS[kind]}', v_procedure);
  end loop;
end
$settings$;`
}
