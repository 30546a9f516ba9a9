import { setTimeout as passTime } from 'node:timers/promises'
import { silentLog } from '../../src/base/log.ts'
import { type Client, open, type Workflow } from '../../src/index.ts'
import { attend, type Attendance, insist } from './attend.ts'
import { note } from './ledger.ts'
import { type Start, workflowsOn } from './programs/workflows.ts'
import type { Scene } from './scene.ts'

/** How long things may take to end that are no longer disturbed. */
export const FINISH_MS = 40_000

/** Waits for all that was acknowledged to end, and says where it ended otherwise than expected. */
export async function compareOutcomes(
  scene: Scene,
  client: Client,
  ids: ReadonlySet<string>,
  expected: Promise<ReadonlyMap<string, string>>,
  finishMs = FINISH_MS,
): Promise<string[]> {
  const findings = [...ids].map(async (id): Promise<string[]> => {
    const outcome = await outcomeOf(client, id, finishMs)
    if (!outcome.startsWith(UNFINISHED)) note(scene.ledger, { what: 'ended', id })
    const wanted = (await expected).get(id)
    return outcome === wanted ? [] : [`${id}: ${outcome}, but should be ${wanted}`]
  })
  return (await Promise.all(findings)).flat()
}

const UNFINISHED = 'unfinished'

/** How an instance ended, in words that can be compared. */
async function outcomeOf(client: Client, id: string, finishMs: number): Promise<string> {
  const instance = client.get(id)
  const result = await instance.result({ timeout: finishMs }).then(
    (value) => JSON.stringify(value),
    (error: unknown) => String(error),
  )
  // Of many at once, some may have to wait for a connection for longer than one call does.
  const info = await insist(() => instance.info())
  if (info?.finishedAt === undefined) return `${UNFINISHED}: ${result}, ${JSON.stringify(info)}`
  return `${info.status}: ${result}`
}

/** The outcomes of the same workflows in one undisturbed process. */
export async function undisturbed(
  starts: readonly Start[],
  finishMs = FINISH_MS,
): Promise<Map<string, string>> {
  const workflows = workflowsOn('/dev/null')
  await using runtime = await open('memory:', { register: workflows, log: silentLog })
  const attendance: Attendance = { client: runtime, pause: async () => {}, note() {} }
  const outcomes = starts.map(async (start): Promise<[string, string]> => {
    const { workflow, id, input } = start
    await runtime.start(workflows[workflow] as Workflow<unknown, unknown>, input, { id })
    const [outcome] = await Promise.all([
      outcomeOf(runtime, id, finishMs),
      attend(attendance, start),
    ])
    return [id, outcome]
  })
  return new Map(await Promise.all(outcomes))
}

/** Waits until nothing is unfinished, for a while. */
export async function untilEmpty(scene: Scene, finishMs = FINISH_MS): Promise<void> {
  const until = performance.now() + finishMs
  while (performance.now() < until) {
    const [left] = await scene.query('select count(*) as count from runs')
    if (Number(left?.['count']) === 0) return
    await passTime(100)
  }
}
