// What must be true after whatever was done to the processes. Every finding is a sentence about what
// is not; a round that went well has none. Nothing here compares clocks.

import { decode } from '../../src/base/codec.ts'
import { type Event, readEvents } from '../../src/store/history.ts'
import type { Loaded, TurnRow } from '../../src/store/workflow-store.ts'
import { commandOf, type Line } from './ledger.ts'
import type { Scene } from './scene.ts'

/** Reads store and ledger and looks for whatever must not be there. */
export async function checkScene(scene: Scene, lines: readonly Line[]): Promise<string[]> {
  const rows = await scene.query('select iid from instances order by iid')
  const iids = rows.map(({ iid }) => Number(iid))
  const loaded = await scene.read((store) => store.load(iids.map((iid) => ({ iid, after: 0 }))))
  const epochs = await scene.query('select iid, epoch from history order by iid, execution, turn')
  const findings: string[] = []

  for (const table of ['runs', 'inbox']) {
    const [left] = await scene.query(`select count(*) as count from ${table}`)
    if (Number(left?.['count']) > 0)
      findings.push(`${String(left?.['count'])} rows left in ${table}`)
  }
  if (loaded.length !== iids.length) {
    findings.push(`${iids.length} instances, but histories of ${loaded.length}`)
  }
  for (const instance of loaded) {
    const own = epochs.filter(({ iid }) => Number(iid) === instance.iid)
    const turns = [
      ...checkHistory(instance.history),
      ...checkRising(own.map(({ epoch }) => Number(epoch))),
    ]
    findings.push(
      ...turns.map((finding) => `${instance.id}: ${finding}`),
      ...checkEffects(
        instance,
        lines.filter(({ id }) => id === instance.id),
      ),
    )
  }
  const known = new Set(loaded.map(({ id }) => id))
  for (const id of new Set(lines.map((line) => line.id))) {
    if (!known.has(id)) findings.push(`${id}: effects without an instance`)
  }
  return findings
}

/** No gaps, no second turn in one place, no second result, and an end. */
export function checkHistory(history: readonly TurnRow[]): string[] {
  const findings: string[] = []
  const events: Event[] = []
  for (const [i, row] of history.entries()) {
    const of = readEvents(row.events)
    const at = `turn ${row.turn}`
    if (row.turn !== i + 1) findings.push(`${at} stands in place ${i + 1}`)
    if (row.first !== events.length + 1) findings.push(`${at} begins at event ${row.first}`)
    if (row.count !== of.length) findings.push(`${at} says ${row.count} events, has ${of.length}`)
    if (row.at < (history[i - 1]?.at ?? 0)) findings.push(`${at} is earlier than the one before`)
    events.push(...of)
  }
  if (events[0]?.type !== 'started') findings.push('does not begin with "started"')
  if (events.at(-1)?.type !== 'ended') findings.push('does not end with "ended"')
  const open = new Set<number>()
  let last = 0
  for (const event of events) {
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- only what the rounds use
    switch (event.type) {
      case 'activity':
      case 'step':
      case 'timer':
        if (event.command !== ++last) findings.push(`command ${event.command} in place ${last}`)
        open.add(event.command)
        break
      case 'completed':
      case 'failed':
      case 'fired':
        if (!open.delete(event.command)) findings.push(`command ${event.command} ends twice`)
        break
      case 'attempt':
      case 'started':
      case 'ended':
    }
  }
  return findings
}

function checkRising(epochs: readonly number[]): string[] {
  return epochs.some((epoch, i) => epoch < (epochs[i - 1] ?? 0))
    ? [`epochs go back: ${epochs.join(' ')}`]
    : []
}

/**
 * Holds the side effects of an instance against its history.
 *
 * What began has a recorded cause, and what is recorded as completed did end with that value. And
 * when a command began that was scheduled in turn t, turn t was recorded: so whatever had its result
 * in turn t or before may not begin from that line of the ledger on. Nothing begins once somebody
 * was told of the end.
 */
export function checkEffects(instance: Loaded, lines: readonly Line[]): string[] {
  const findings: string[] = []
  const scheduled = new Map<number, { turn: number; name: string }>()
  const settled = new Map<number, number>()
  const values = new Map<number, unknown>()
  for (const { turn, events } of instance.history) {
    for (const event of readEvents(events)) {
      if (event.type === 'activity' || event.type === 'step') {
        scheduled.set(event.command, { turn, name: event.name })
      } else if (event.type === 'completed' || event.type === 'failed') {
        settled.set(event.command, turn)
        if (event.type === 'completed') values.set(event.command, decode(event.value))
      }
    }
  }
  let recorded = 0
  for (const line of lines) {
    if (line.what === 'ended') {
      recorded = Infinity
      continue
    }
    const command = commandOf(line.key)
    const what = `${instance.id}: command ${command} "${line.name}" (attempt ${line.attempt})`
    const cause = scheduled.get(command)
    if (cause?.name !== line.name) {
      findings.push(`${what} ran without a recorded cause`)
      continue
    }
    if (line.what === 'end') continue
    recorded = Math.max(recorded, cause.turn)
    if ((settled.get(command) ?? Infinity) <= recorded) {
      findings.push(`${what} began in process ${line.pid} after its result was recorded`)
    }
  }
  for (const [command, value] of values) {
    const ends = lines.filter((line) => line.what === 'end' && commandOf(line.key) === command)
    if (!ends.some((line) => line.what === 'end' && line.value === value)) {
      findings.push(`${instance.id}: command ${command} is recorded as ${String(value)}, unseen`)
    }
  }
  return findings
}
