import { type CodecOption, NO_CODEC, resolveCodec } from '../../base/codec/codec-option.ts'
import { option, resolveOptions } from '../../base/options.ts'
import { nextMinor } from '../../base/versions.ts'
import { exportOf } from '../../engine/client/exported-history.ts'
import { valuesOf } from '../../engine/core/values.ts'
import { checkWorkflow } from '../../engine/define/check-workflow.ts'
import type { AnyWorkflow } from '../../engine/define/definitions.ts'
import type { ExportedHistory, HistoryEvent } from '../../engine/define/instance.ts'
import { checkId } from '../../engine/define/names.ts'
import { registryOf } from '../../engine/define/registry.ts'
import { Findings } from './findings.ts'
import { toCandidate } from './histories.ts'
import { Rehearsals } from './rehearsals.ts'
import { writeFinding } from './write-report.ts'

/** Options of `checkReplay`. */
export interface CheckReplayOptions {
  /** The id of the instance, which the code may read from `ctx.info`. @default that of the export */
  id?: string
  /** The codec that the history was written with. @default Holdfast's own */
  codec?: CodecOption
}

/**
 * Replays one history with the code of a workflow: that of `instance.export()`, also after JSON, or the
 * events of `instance.history()`, as a list or as it is. Runs no activity.
 *
 * `ok` if the code asks for what history has, as far as history goes. Otherwise `report` says what it
 * asks for instead, where in the code, and how to keep such instances. The version of the workflow need
 * not be that of the history.
 */
export async function checkReplay(
  workflow: AnyWorkflow,
  history: ExportedHistory | readonly HistoryEvent[] | AsyncIterable<HistoryEvent>,
  options?: CheckReplayOptions,
): Promise<{ readonly ok: boolean; readonly report: string }> {
  const { id, codec } = resolveOptions('checkReplay', options, {
    id: option(checkId, undefined),
    codec: option(resolveCodec, NO_CODEC),
  })
  const definition = checkWorkflow('checkReplay', workflow)
  const registry = registryOf(workflow, undefined, undefined, 'checkReplay')
  const values = valuesOf(codec.codec)
  const exported = await exportedOf(history)
  const recorded = toCandidate(exported, values, 'checkReplay')
  const { name } = recorded.workflow
  if (name !== definition.name) {
    throw new TypeError(
      `checkReplay: the history is of workflow "${name}", but the code is that of "${definition.name}"`,
    )
  }
  const candidate = { ...recorded, ...(id !== undefined && { id }) }
  const rehearsals = new Rehearsals(registry, values)
  try {
    const breakage = await rehearsals.replay(candidate, definition)
    if (breakage === undefined) return { ok: true, report: 'the history replays' }
    const findings = new Findings()
    findings.add(candidate.workflow, nextMinor(definition.version), breakage, candidate)
    return { ok: false, report: writeFinding(findings.list()[0]!) }
  } finally {
    rehearsals.close()
  }
}

async function exportedOf(history: Parameters<typeof checkReplay>[1]): Promise<ExportedHistory> {
  if (history instanceof Promise) {
    // What it rejects with would be reported beside this error, as unhandled.
    history.catch(() => {})
    throw new TypeError('checkReplay: the history is a promise; await it')
  }
  const events = await eventsIn(history)
  if (events === undefined) return history as ExportedHistory
  if (events.length === 0) throw new TypeError('checkReplay: the history is empty')
  return exportOf(events, 'unknown')
}

/** The events of `history()`; of an export, nothing. */
async function eventsIn(
  history: Parameters<typeof checkReplay>[1],
): Promise<readonly HistoryEvent[] | undefined> {
  if (Array.isArray(history)) return history as readonly HistoryEvent[]
  if (typeof history !== 'object' || !(Symbol.asyncIterator in history)) return undefined
  const events: HistoryEvent[] = []
  for await (const event of history) events.push(event)
  return events
}
