import { option, resolveOptions } from '../../base/options.ts'
import { checkOutboxPrefix } from '../../store/outbox-prefix.ts'
import type { SchemaStatus } from '../../store/schema-status.ts'
import { connectionsFor } from '../connect/connections.ts'
import { POSTGRES_OPTIONS, type PostgresOptions, settingsOf } from '../connect/options.ts'
import { outboxFiles } from './outbox-files.ts'
import { FILES, readApplied, schemaState } from './schema-state.ts'

/** Which schema to look at: the options of `postgres`. */
export interface SchemaStatusOptions extends PostgresOptions {
  /** The prefix of an outbox, to look at its tables instead. @default none */
  readonly outbox?: string | undefined
}

/** Compares a schema with this version of Holdfast. It only reads. */
export async function schemaStatus(options: SchemaStatusOptions = {}): Promise<SchemaStatus> {
  const { outbox, ...rest } = resolveOptions('schemaStatus', options, {
    ...POSTGRES_OPTIONS,
    outbox: option(checkOutboxPrefix, undefined),
  })
  const settings = settingsOf('schemaStatus', rest)
  const { schema } = settings
  const files = outbox === undefined ? FILES : outboxFiles(outbox)
  const { version } = files
  const what = outbox === undefined ? `schema "${schema}"` : `outbox "${outbox}" in "${schema}"`
  const connections = connectionsFor(settings)
  try {
    const applied = await connections.session('schemaStatus', (session) =>
      readApplied(session, schema, files.family),
    )
    if (applied.length === 0) {
      const all = [...files.migrations, ...files.procedures]
      const detail = `${what} does not exist`
      return { state: 'missing', detail, missing: all.map(({ name }) => name) }
    }
    const state = schemaState(applied, schema, files)
    if (state.kind === 'refused') {
      return { state: 'refused', detail: state.error.message, missing: [] }
    }
    if (state.kind === 'ahead') {
      const detail = `${what} was upgraded by ${state.by}; version ${version} works with it`
      return { state: 'ahead', detail, missing: [] }
    }
    const missing = state.missing.map(({ name }) => name)
    if (missing.length === 0) {
      return { state: 'current', detail: `${what} is up to date for version ${version}`, missing }
    }
    return { state: 'behind', detail: `${what} is older than version ${version}`, missing }
  } finally {
    await connections.close()
  }
}
