// Records histories of the workflows in test/fixtures/histories, in a folder of the current version.
// They are kept forever: every later version has to replay them. Run it before a release, and after
// adding a workflow there; it never replaces what is recorded.
//
//   npm run record-histories

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VERSION } from '../src/base/version.ts'
import { type Instance, open, type Runtime } from '../src/index.ts'
import * as samples from '../test/fixtures/histories/workflows.ts'

const FOLDER = join(import.meta.dirname, '../test/fixtures/histories', VERSION)

await using runtime = await open('memory:', { register: samples.register })
mkdirSync(FOLDER, { recursive: true })

for (const [name, begin] of Object.entries(runs())) {
  const file = join(FOLDER, `${name}.json`)
  if (existsSync(file)) continue
  const instance = await begin(runtime)
  // No value that replay compares is replaced.
  const { redacted: _, ...history } = await instance.export({ redact: withoutStack })
  writeFileSync(file, `${JSON.stringify(history, null, 1)}\n`)
  process.stdout.write(`${file}\n`)
}

/** The stacks of errors would show paths of this machine. */
function withoutStack(value: unknown): unknown {
  for (let error = value; error instanceof Error; error = error.cause) {
    error.stack = `${error.name}: ${error.message}`
  }
  return value
}

type Run = (runtime: Runtime) => Promise<Instance>

/** How each history comes about. The instance has ended, or waits. */
function runs(): Record<string, Run> {
  return {
    values: async (r) =>
      ended(await r.start(samples.values, { big: 1n << 80n, when: new Date() }, { id: 'values' })),
    troubles: async (r) => ended(await r.start(samples.troubles, undefined, { id: 'troubles' })),
    talk: async (r) => {
      const talk = await r.start(samples.talk, undefined, { id: 'talk' })
      await talk.send(samples.answers, by('Kim'))
      await talk.request(samples.questions, 'may I?')
      await talk.request(samples.questions, 'and again?').catch(() => {})
      return ended(talk)
    },
    waiting: async (r) => {
      const talk = await r.start(samples.talk, undefined, { id: 'waiting' })
      await talk.send(samples.answers, by('Lou'))
      await r.idle()
      return talk
    },
    family: async (r) => ended(await r.start(samples.family, undefined, { id: 'family' })),
    parallel: async (r) => ended(await r.start(samples.parallel, undefined, { id: 'parallel' })),
    cancelled: async (r) => {
      const instance = await r.start(samples.cancelled, undefined, { id: 'cancelled' })
      await r.idle()
      await instance.cancel('not needed')
      return ended(instance)
    },
    rounds: async (r) => {
      const instance = await r.start(samples.rounds, 1, { id: 'rounds' })
      await r.idle()
      return instance
    },
    forked: async (r) => {
      const original = await r.start(samples.rounds, 3, { id: 'original' })
      await r.idle()
      // Up to the result of its first activity.
      let at = 0
      for await (const { seq, type } of original.history()) if (type === 'completed') at = seq
      const fork = await original.fork({ at, id: 'forked' })
      await r.idle()
      return fork
    },
    'over-limits': async (r) =>
      ended(await r.start(samples.overLimits, undefined, { id: 'over-limits' })),
    'order-retried': async (r) =>
      ended(await r.start(samples.fulfil, samples.orders[0]!, { id: samples.orders[0]!.id })),
    'order-declined': async (r) =>
      ended(await r.start(samples.fulfil, samples.orders[1]!, { id: samples.orders[1]!.id })),
  }
}

function by(name: string): { by: string; at: Date } {
  return { by: name, at: new Date(1_700_000_000_000) }
}

async function ended(instance: Instance): Promise<Instance> {
  await instance.result({ timeout: '30s' }).catch(() => {})
  return instance
}
