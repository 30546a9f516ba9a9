import type { InstanceRow, OnParentClose } from '../../../src/store/instances.ts'
import { type RecordedCommand, commandsOf, type RecordedInstance } from '../recorded-instance.ts'

/** What was started exists, and ended as its parent was answered, or as its parent left it. */
export function checkChildren(lives: readonly RecordedInstance[]): string[] {
  const byId = new Map(lives.map((life) => [life.row.id, life.row]))
  const findings: string[] = []
  const accounted = new Set<string>()
  for (const life of lives) {
    for (const command of commandsOf(life).values()) {
      if (command.command.type !== 'child' && command.command.type !== 'start') continue
      const { id, type } = command.command
      const found = byId.get(id)
      const isOwn = found !== undefined && isStartedBy(found, life.row, command)
      if (isOwn) accounted.add(id)
      const what = `${life.row.id}: ${type} ${command.place} "${id}"`
      findings.push(...checkStart(command, isOwn ? found : undefined).map((f) => `${what} ${f}`))
    }
  }
  for (const { row } of lives) {
    if (row.parent === null || accounted.has(row.id)) continue
    findings.push(`${row.id}: its parent ${row.parent.id} has no record of starting it`)
  }
  return findings
}

function isStartedBy({ parent }: InstanceRow, by: InstanceRow, command: RecordedCommand): boolean {
  return (
    parent?.iid === by.iid &&
    parent.execution === command.execution &&
    parent.command === command.command.command
  )
}

function checkStart({ command, settled }: RecordedCommand, row: InstanceRow | undefined): string[] {
  const how = settled?.by.type ?? 'open'
  if (command.type === 'start') {
    // Even a start that no code waited for is carried out before its starter ends.
    if (how !== 'completed') return [`is ${how}`]
    return row === undefined ? ['was started and is not there'] : []
  }
  if (settled?.by.type === 'completed') {
    return row?.status === 'completed' && row.output === settled.by.value
      ? []
      : [`answered ${settled.by.value}, but is ${row?.status} with ${row?.output}`]
  }
  if (how === 'failed') {
    return row?.status === 'failed' ? [] : [`failed, but is ${row?.status}`]
  }
  // It was cancelled, or left by a parent that was terminated; perhaps before it was started.
  if (row === undefined) return []
  const policy = row.parent!.onClose
  const allowed = LEFT[policy]
  return allowed.includes(row.status) ? [] : [`was left (${policy}), but is ${row.status}`]
}

/** How a child may end that its parent left. It may have ended by itself just before. */
const LEFT: Record<OnParentClose, readonly InstanceRow['status'][]> = {
  cancel: ['cancelled', 'completed', 'failed'],
  terminate: ['terminated', 'completed', 'failed'],
  abandon: ['completed', 'failed'],
  independent: [],
}
