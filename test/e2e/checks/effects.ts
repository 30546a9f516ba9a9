import { decode } from '../../../src/base/codec/codec.ts'
import { type Line, placeOf } from '../ledger.ts'
import { commandsOf, type RecordedInstance } from '../recorded-instance.ts'

/**
 * Compares the side effects of an instance with its history.
 *
 * What began has a recorded cause, and what is recorded as completed did end with that value. And
 * when a command of turn t began, turn t was recorded: so a command that was settled or cancelled
 * in turn t or before may not begin from that line of the ledger on. Nothing begins once a caller
 * has learned of the end.
 */
export function checkEffects(
  id: string,
  turns: RecordedInstance['turns'],
  lines: readonly Line[],
): string[] {
  const findings: string[] = []
  const commands = commandsOf({ turns })
  const ends = new Map<string, unknown[]>()
  let recorded = -1
  for (const line of lines) {
    if (line.what === 'ended') recorded = Infinity
    if (line.what !== 'begin' && line.what !== 'end') continue
    const place = placeOf(line.key)
    const what = `${id}: command ${place} "${line.name}" (attempt ${line.attempt})`
    const life = commands.get(place)
    if (life === undefined || nameOf(life.command) !== line.name) {
      findings.push(`${what} ran without a recorded cause`)
      continue
    }
    if (line.what === 'end') {
      ends.set(place, [...(ends.get(place) ?? []), line.value])
      continue
    }
    recorded = Math.max(recorded, life.givenIn)
    // One that was never settled was open when its instance was terminated. The owner learns of that
    // later, and may begin it until then.
    if (life.settled !== undefined && life.settled.in <= recorded) {
      const how = life.settled.by.type
      findings.push(`${what} began in process ${line.pid} after it was recorded as ${how}`)
    }
  }
  for (const { place, command, settled } of commands.values()) {
    if (nameOf(command) === undefined || settled?.by.type !== 'completed') continue
    const value = decode(settled.by.value)
    if (!ends.get(place)?.includes(value)) {
      findings.push(`${id}: command ${place} is recorded as ${String(value)}, unseen`)
    }
  }
  return findings
}

/** The name of what a command runs here; `undefined` when it runs nothing. */
function nameOf(command: { readonly type: string; readonly name?: string }): string | undefined {
  return command.type === 'activity' || command.type === 'step' ? command.name : undefined
}

/** What was reserved is released, and what was cancelled while it lingered has cleaned up. */
export function checkCleanUp({ row, turns }: RecordedInstance): string[] {
  if (row.status !== 'cancelled') return []
  const done = new Map<string, number>()
  const commands = commandsOf({ turns })
  for (const { command, settled } of commands.values()) {
    const name = nameOf(command)
    if (name === undefined || settled?.by.type !== 'completed') continue
    done.set(name, (done.get(name) ?? 0) + 1)
  }
  const count = (name: string): number => done.get(name) ?? 0
  const findings: string[] = []
  if (count('reserve') !== count('release')) {
    findings.push(`${row.id}: ${count('reserve')} reserved, ${count('release')} released`)
  }
  // One that was cancelled before its code ran has nothing to clean up.
  const cleanUps = commands.size > 0 ? 1 : 0
  if (row.workflow.name === 'lingers' && count('clean') !== cleanUps) {
    findings.push(`${row.id}: was cancelled and cleaned up ${count('clean')} times`)
  }
  return findings
}
