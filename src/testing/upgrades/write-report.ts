import type { UpgradeFinding } from './findings.ts'

/** The result of `checkAgainst`. */
export interface UpgradeReport {
  /** Whether no instance breaks. */
  readonly ok: boolean
  /** How many histories were replayed, and how many of them break. */
  readonly checked: number
  readonly broken: number
  /** What breaks, worst first: each with the number of instances, and how to keep them. */
  readonly findings: readonly UpgradeFinding[]
  /** Unfinished instances that were not checked, since no workflow of that name is registered here. */
  readonly notRegistered: readonly {
    readonly workflow: string
    readonly version: string
    readonly running: number
  }[]
  /** All of this as text. */
  readonly report: string
}

/** The result of a check as text. */
export function writeReport({
  checked,
  broken,
  findings,
  notRegistered,
}: Omit<UpgradeReport, 'report'>): string {
  const first =
    broken === 0
      ? `all ${checked} histories replay`
      : `${broken} of ${checked} histories do not replay`
  const others = notRegistered.map(
    ({ workflow, version, running }) =>
      `not checked, since it is not registered here: ${workflow} ${version}, ${count(running, 'running')}`,
  )
  return [first, ...findings.map(writeFinding), ...others].join('\n\n')
}

/** One finding as text: who breaks, why and where, and how to keep them. */
export function writeFinding(finding: UpgradeFinding): string {
  const { workflow, version, running, finished, examples, message } = finding
  const counts = [
    ...(running > 0 ? [count(running, 'running')] : []),
    ...(finished > 0 ? [count(finished, 'finished')] : []),
  ].join(' and ')
  const more = running + finished > examples.length ? ', …' : ''
  return [
    `${workflow} ${version}: breaks ${counts} (${examples.join(', ')}${more})`,
    indent(message),
    ...adviceOf(finding).map(indent),
  ].join('\n')
}

function adviceOf({
  kind,
  change,
  patch,
  nextVersion,
  version,
  workflow,
}: UpgradeFinding): string[] {
  if (kind === 'unregistered') return []
  if (kind === 'unreadable') return ['check with the version of holdfast that wrote it']
  if (kind === 'broken-rule')
    return ['correct the code: this cannot be replayed, whatever the history']
  if (change === 'throws') return ['correct the code, which must not throw for these instances']
  const beside =
    `workflow('${workflow}', { version: '${nextVersion}' }, …) beside the old code, ` +
    `which stays registered as ${version}`
  if (patch === '') return [`undo the change, or register the new code as ${beside}`]
  return [
    'keep them with a patch:',
    indent(patch),
    `or with a version: register the new code as ${beside}`,
  ]
}

function count(instances: number, what: string): string {
  return `${instances} ${what} ${instances === 1 ? 'instance' : 'instances'}`
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
