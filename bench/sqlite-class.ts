import { createRequire, isBuiltin } from 'node:module'

/**
 * An expression, for the script of a thread, for the class of databases that the embedded store
 * uses here.
 */
export function sqliteClass(): string {
  if (isBuiltin('node:sqlite')) return "require('node:sqlite').DatabaseSync"
  const path = createRequire(import.meta.url).resolve('better-sqlite3')
  return `require(${JSON.stringify(path)})`
}
