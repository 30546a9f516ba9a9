// An instance that went wrong: looked at, taken along, retried.

import type { Client, ExportedHistory, Instance } from 'holdfast'
import { checkout } from './saga.ts'

/** What happened, without what customers typed. */
export async function takeAlong(client: Client, id: string): Promise<string> {
  const instance = client.get(checkout, id)
  await instance.suspend('someone looks at it')
  const taken = await instance.export({
    redact: (value, at) => (at.type === 'started' ? { id: 'redacted' } : value),
  })
  return JSON.stringify(taken)
}

export async function tryAtHome(client: Client, text: string): Promise<Instance> {
  return client.import(JSON.parse(text) as ExportedHistory, { labels: { from: 'support' } })
}

/** Goes back to the moment before the failure, with the code of today. */
export async function repair(client: Client, id: string): Promise<{ tracking: string }> {
  const broken = client.get(checkout, id)
  let at = 0
  for await (const event of broken.history()) {
    if (event.type === 'failed') break
    at = event.seq
  }
  const repaired = await broken.fork({ at, id: `${id}-repaired` })
  await broken.terminate(`goes on as ${repaired.id}`)
  return repaired.result()
}
