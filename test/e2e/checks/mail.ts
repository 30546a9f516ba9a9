import { decode, encode } from '../../../src/base/codec/codec.ts'
import type { Line } from '../ledger.ts'
import { commandsOf, type RecordedInstance } from '../recorded-instance.ts'

/** A message that waits in an inbox. */
export interface WaitingMessage {
  readonly id: string
  readonly channel: string
  readonly payload: string
}

/**
 * Holds what was sent against what was received, of messages that are all different: each that was
 * acknowledged is received once or still waits; none comes twice, or from nowhere.
 */
export function checkMail(
  lives: readonly RecordedInstance[],
  waiting: readonly WaitingMessage[],
  lines: readonly Line[],
): string[] {
  const maySent = new Set<string>()
  const acknowledged = new Set<string>()
  const arrived = new Map<string, number>()
  const failed: string[] = []
  const arrive = (message: string): unknown => arrived.set(message, (arrived.get(message) ?? 0) + 1)

  for (const line of lines) {
    if (line.what !== 'sending' && line.what !== 'sent') continue
    const message = nameOf(line.id, line.channel, encode(line.value))
    maySent.add(message)
    if (line.what === 'sent') acknowledged.add(message)
  }
  for (const life of lives) {
    for (const { command, settled } of commandsOf(life).values()) {
      if (command.type === 'send') {
        const message = nameOf(command.id, command.name, command.value)
        maySent.add(message)
        // Even a message whose send no code waited for is sent before its sender ends.
        if (settled?.by.type === 'failed') failed.push(`${message} failed: ${settled.by.error}`)
        else if (settled?.by.type !== 'dropped') acknowledged.add(message)
      } else if (command.type === 'receive' && settled?.by.type === 'received') {
        arrive(nameOf(life.row.id, command.name, settled.by.value))
      }
    }
  }
  for (const { id, channel, payload } of waiting) arrive(nameOf(id, channel, payload))

  const lost = [...acknowledged].filter((message) => !arrived.has(message))
  const twice = [...arrived].filter(([, times]) => times > 1)
  const strange = [...arrived.keys()].filter((message) => !maySent.has(message))
  return [
    ...failed,
    ...lost.map((message) => `${message} was acknowledged and never arrived`),
    ...twice.map(([message, times]) => `${message} arrived ${times} times`),
    // A message that came with a start is in no history but the receiver's.
    ...strange.filter(isNoLetter).map((message) => `${message} was never sent`),
  ]
}

function nameOf(id: string, channel: string, payload: string): string {
  return `${id}: message in "${channel}": ${JSON.stringify(decode(payload))}`
}

function isNoLetter(message: string): boolean {
  return !message.endsWith('word 0"')
}
