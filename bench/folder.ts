import { tmpdir } from 'node:os'

import { fastFolder } from '../test/support/postgres-server.ts'

/**
 * Where databases are kept: on the disk, which is part of what is measured. The figures of a smoke run
 * mean nothing, so that it need not wait for a disk.
 */
export function databaseFolder(): string {
  return process.argv.includes('--smoke') ? fastFolder() : tmpdir()
}
