// What the tests of rotated keys share with the process that they kill.

import { activity, compression, encryption, type Store, workflow } from '../../../src/index.ts'
import { postgres } from '../../../src/postgres/index.ts'
import { sqlite } from '../../../src/sqlite/index.ts'

/** Where the store is: a file, or a schema of a server. */
export type Place = { readonly path: string } | { readonly url: string; readonly schema: string }

/** A store in this place. */
export function placeOf(place: Place): Store {
  return 'path' in place ? sqlite(place) : postgres(place)
}

const OLD = { id: 'old', key: new Uint8Array(32).fill(3) }
const NEW = { id: 'new', key: new Uint8Array(32).fill(4) }

/** The codec before and after the rotation. */
export const oldKeys = [compression({ threshold: 0 }), encryption({ keys: [OLD] })]
export const newKeys = [compression({ algorithm: 'brotli' }), encryption({ keys: [NEW, OLD] })]

/** Workflows whose activity waits for `go`. */
export function letters(go: (text: string) => Promise<string>) {
  const send = activity('send', async (text: string, ctx) => {
    ctx.heartbeat(`${text}, on its way`)
    process.stdout.write('begun\n')
    return go(`${text}, after ${String(ctx.lastHeartbeat)}`)
  })
  const write = workflow('write', async (text: string, ctx) => {
    const signed = await ctx.step('sign', () => `${text}, signed`)
    return ctx.run(send, signed)
  })
  return { write, register: [write, send] }
}
