import { VERSION } from '../../base/version.ts'
import { checkOutboxPrefix, DEFAULT_OUTBOX_PREFIX } from '../../store/outbox-prefix.ts'
import type { SchemaFiles } from './schema-state.ts'
import type { SqlFile } from './sql-file.ts'
import { OUTBOX_MIGRATIONS, OUTBOX_PROCEDURES } from './sql.generated.ts'

/** The files that the tables and procedures of an outbox with this prefix are created from. */
export function outboxFiles(prefix: string): SchemaFiles {
  const files = (list: readonly SqlFile[]): SqlFile[] =>
    list.map((file) => ({
      ...file,
      name: withPrefix(file.name, prefix),
      sql: withPrefix(file.sql, prefix),
    }))
  return {
    migrations: files(OUTBOX_MIGRATIONS),
    procedures: files(OUTBOX_PROCEDURES),
    version: VERSION,
    family: `outbox/${prefix}/`,
  }
}

/**
 * The text with the names of this outbox. In one pass over the original: a prefix may itself contain
 * what a name looks like.
 */
export function withPrefix(text: string, prefix: string): string {
  if (prefix === DEFAULT_OUTBOX_PREFIX) return text
  checkOutboxPrefix(prefix, 'outbox: prefix')
  return text.replaceAll(/\boutbox_(?=\w)/g, () => `${prefix}_`)
}
