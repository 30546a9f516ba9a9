import type { TurnRow } from '../../../src/store/commits.ts'
import { type Event, readEvents } from '../../../src/store/history.ts'
import { isCommand, isSettlement, type RecordedInstance } from '../recorded-instance.ts'

/** Every execution but the last one was continued, and each is whole by itself. */
export function checkExecutions({ row, turns }: RecordedInstance): string[] {
  const last = Math.max(row.execution, 1)
  return Array.from({ length: last }, (_, i) => i + 1).flatMap((execution) => {
    const own = turns.filter((turn) => turn.execution === execution)
    const findings = checkHistory(own, execution < last)
    return findings.map((finding) => `${row.id}: execution ${execution}: ${finding}`)
  })
}

/** No gaps, no second turn in one place, no second result, nothing left open, and an end. */
export function checkHistory(history: readonly TurnRow[], continued = false): string[] {
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
  const open = new Set<number>()
  let last = 0
  for (const event of events) {
    if (isCommand(event)) {
      if (event.command !== ++last) findings.push(`command ${event.command} in place ${last}`)
      open.add(event.command)
    } else if (isSettlement(event)) {
      if (!open.delete(event.command)) findings.push(`command ${event.command} ends twice`)
    }
  }
  const end = events.at(-1)
  if (end?.type !== 'ended') return [...findings, 'does not end with "ended"']
  if ((end.status === 'continued') !== continued) findings.push(`ends with "${end.status}"`)
  if (end.status !== 'terminated' && open.size > 0) {
    findings.push(`ends with open commands: ${[...open].join(' ')}`)
  }
  return findings
}

/** Each owner of an instance writes with a higher epoch than the owner before. */
export function checkEpochs(epochs: readonly number[]): string[] {
  return epochs.some((epoch, i) => epoch < (epochs[i - 1] ?? 0))
    ? [`epochs go back: ${epochs.join(' ')}`]
    : []
}
