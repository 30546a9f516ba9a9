import { type CodecOption, NO_CODEC, resolveCodec } from '../../base/codec/codec-option.ts'
import { list, number, option, resolveOptions, unknownName } from '../../base/options.ts'
import { nextMinor } from '../../base/versions.ts'
import { valuesOf } from '../../engine/core/values.ts'
import { checkId } from '../../engine/define/names.ts'
import { type Registrable, registryOf } from '../../engine/define/registry.ts'
import { NO_VERSION, type WorkflowName } from '../../store/instances.ts'
import { Findings } from './findings.ts'
import { historiesOf, type HistorySource } from './histories.ts'
import { Rehearsals } from './rehearsals.ts'
import { type UpgradeReport, writeReport } from './write-report.ts'

/** Options of `checkAgainst`. */
export interface CheckAgainstOptions {
  /** The code of today: definitions, lists, or whole modules, as for `open`. */
  register: Registrable
  /** The names of the workflows to check. @default all that are registered */
  workflows?: readonly string[]
  /**
   * The most unfinished instances of each workflow and version that are checked. If a store has more,
   * half of them are the newest and half the oldest.
   *
   * @default 1000
   */
  running?: number
  /**
   * The most instances of each workflow and version that are checked although they have ended, the newest
   * ones: they stand for instances that will be running when the change is deployed.
   *
   * @default 100
   */
  recent?: number
  /** The codec that the histories were written with. @default Holdfast's own */
  codec?: CodecOption
  /** Called after each history. */
  onProgress?: (progress: CheckProgress) => void
}

/** How far a check is. */
export interface CheckProgress {
  readonly checked: number
  readonly broken: number
  /** How many there are to check; for files, how many files there are. */
  readonly total: number
}

// Between two histories, so that a check of thousands leaves the process responsive.
const SLICE_MS = 20

/**
 * Replays running and recent histories with the code of today and says which instances would break, at
 * which command and line, and what would keep them. For CI: fail the build unless `ok`.
 *
 * It only reads, runs no activity, and neither writes to the store nor migrates it. `from` is a store (a
 * URL, `sqlite()` or `postgres()`), exported histories, or the path of a folder or file with exports as
 * JSON.
 *
 * @example
 * const { ok, report } = await checkAgainst(process.env.DATABASE_URL, { register: workflows })
 * if (!ok) throw new Error(report)
 */
export async function checkAgainst(
  from: HistorySource,
  options: CheckAgainstOptions,
): Promise<UpgradeReport> {
  const given = resolveOptions('checkAgainst', options, {
    register: option((value) => value as Registrable, undefined),
    workflows: option(checkNames, undefined),
    running: number({ min: 0, integer: true }, 1_000),
    recent: number({ min: 0, integer: true }, 100),
    codec: option(resolveCodec, NO_CODEC),
    onProgress: option(checkFunction, undefined),
  })
  const { register, workflows, running, recent, codec, onProgress } = given
  if (register === undefined) {
    throw new TypeError('checkAgainst: register is missing: list the workflows to check')
  }
  const registry = registryOf(register, undefined, undefined, 'checkAgainst')
  const names = registry.latestWorkflows.map(({ name }) => name)
  for (const name of workflows ?? []) {
    if (!names.includes(name)) throw unknownName('checkAgainst: workflows', 'workflow', name, names)
  }
  const isWanted = ({ name }: { readonly name: string }): boolean =>
    workflows === undefined || workflows.includes(name)
  const definitionOf = (workflow: WorkflowName): ReturnType<typeof registry.workflow> => {
    if (!isWanted(workflow)) return undefined
    // Which version it gets is decided when a runtime takes it up.
    return workflow.version === NO_VERSION
      ? registry.latest(workflow.name)
      : registry.workflow(workflow)
  }
  const values = valuesOf(codec.codec)
  const histories = historiesOf(from, values, codec.chain)
  const findings = new Findings()
  const rehearsals = new Rehearsals(registry, values)
  let checked = 0
  let broken = 0
  let sliceEnd = performance.now() + SLICE_MS
  try {
    const registered = {
      has: (workflow: WorkflowName) => definitionOf(workflow) !== undefined,
      hasName: (name: string) => isWanted({ name }) && registry.latest(name) !== undefined,
    }
    for await (const candidate of histories.candidates({ running, recent }, registered)) {
      const definition = definitionOf(candidate.workflow)!
      const breakage = await rehearsals.replay(candidate, definition)
      checked++
      if (breakage !== undefined) {
        broken++
        const next = nextMinor(registry.latest(definition.name)!.version)
        findings.add(definition, next, breakage, candidate)
      }
      onProgress?.({ checked, broken, total: Math.max(checked, histories.total) })
      if (performance.now() < sliceEnd) continue
      await new Promise((resolve) => setImmediate(resolve))
      sliceEnd = performance.now() + SLICE_MS
    }
    const notRegistered = []
    for (const { name, version, count, examples } of histories.unchecked()) {
      const latest = isWanted({ name }) ? registry.latest(name) : undefined
      if (latest !== undefined)
        findings.addUnregistered({ name, version }, latest.version, count, examples)
      else if (isWanted({ name })) notRegistered.push({ workflow: name, version, running: count })
    }
    const found = findings.list()
    const result = { ok: found.length === 0, checked, broken, findings: found, notRegistered }
    return { ...result, report: writeReport(result) }
  } finally {
    rehearsals.close()
    await histories.close()
  }
}

function checkNames(value: unknown, what: string): readonly string[] {
  return list(checkId).check(value, what)
}

function checkFunction(
  value: unknown,
  what: string,
): NonNullable<CheckAgainstOptions['onProgress']> {
  if (typeof value === 'function') return value as NonNullable<CheckAgainstOptions['onProgress']>
  throw new TypeError(`${what} must be a function`)
}
