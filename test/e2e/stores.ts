import { postgresUrl } from '../support/postgres.ts'
import type { SceneKind } from './scene.ts'

/** Both kinds of store, for tests under vitest, by name. */
export const STORES: readonly [name: string, kind: () => SceneKind][] = [
  ['sqlite', () => ({ kind: 'sqlite' })],
  ['postgres', () => ({ kind: 'postgres', url: postgresUrl() })],
]
