// What must be true after whatever was done to the processes. Every finding is a sentence about what
// is not; a round that went well has none. Nothing here compares clocks.

import { checkChildren } from './checks/children.ts'
import { checkCleanUp, checkEffects } from './checks/effects.ts'
import { checkEpochs, checkExecutions } from './checks/history.ts'
import { checkMail, type WaitingMessage } from './checks/mail.ts'
import type { Line } from './ledger.ts'
import { type RecordedInstance, readInstances } from './recorded-instance.ts'
import type { Scene } from './scene.ts'

/** Reads store and ledger and looks for whatever must not be there. */
export async function checkScene(scene: Scene, lines: readonly Line[]): Promise<string[]> {
  const lives = await readInstances(scene)
  const epochs = await scene.query('select iid, epoch from history order by iid, execution, turn')
  const linesOf = groupBy(lines, ({ id }) => id)
  const epochsOf = groupBy(epochs, ({ iid }) => Number(iid))
  const started = lives.filter(({ row }) => row.status !== 'unstarted')

  const perInstance = started.flatMap((life) => {
    const { iid, id } = life.row
    const own = (epochsOf.get(iid) ?? []).map(({ epoch }) => Number(epoch))
    return [
      ...checkExecutions(life),
      ...checkEpochs(own).map((finding) => `${id}: ${finding}`),
      ...checkEffects(id, life.turns, linesOf.get(id) ?? []),
      ...checkCleanUp(life),
    ]
  })
  const known = new Set(lives.map(({ row }) => row.id))
  const strange = [...linesOf.keys()].filter((id) => !known.has(id))
  return [
    ...(await findUnfinished(scene, lives)),
    ...(await findUselessRows(scene)),
    ...perInstance,
    ...strange.map((id) => `${id}: effects without an instance`),
    ...checkChildren(started),
    ...checkMail(started, await waitingMessages(scene), lines),
  ]
}

/** What has not ended, and why it does not move: no runtime owns it, wakes it, or wrote to it. */
async function findUnfinished(scene: Scene, lives: readonly RecordedInstance[]): Promise<string[]> {
  const rows = await scene.query(
    `select iid, owner, wake_at, held,
       (select count(*) from inbox where inbox.iid = runs.iid and not parked) as mail
     from runs order by iid`,
  )
  return rows.map(({ iid, owner, wake_at: wakeAt, held, mail }) => {
    const life = lives.find(({ row }) => row.iid === Number(iid))
    const isStuck = owner === null && wakeAt === null && Number(mail) === 0
    const report = Number(held) > 0 ? `, suspended: ${life?.row.report}` : ''
    return (
      `${life?.row.id}: unfinished${isStuck ? ' and stuck' : ''} (owner ${String(owner)}, ` +
      `wake_at ${String(wakeAt)}, ${String(mail)} in its inbox${report})`
    )
  })
}

/**
 * Mail of instances that have ended, and keys of ones that are gone: no code will ever read them.
 */
async function findUselessRows(scene: Scene): Promise<string[]> {
  const mail = await scene.query(
    `select distinct id from instances
     where finished_at is not null and iid in (select iid from inbox)`,
  )
  const keys = await scene.query(
    `select distinct iid from posted where iid not in (select iid from instances)`,
  )
  return [
    ...mail.map(({ id }) => `${String(id)}: has ended, but has rows in inbox`),
    ...keys.map(({ iid }) => `number ${String(iid)}: is gone, but has rows in posted`),
  ]
}

async function waitingMessages(scene: Scene): Promise<WaitingMessage[]> {
  const rows = await scene.query(
    `select i.id, m.name, m.payload from inbox m join instances i on i.iid = m.iid
     where m.name <> '' order by m.id`,
  )
  return rows.map(({ id, name, payload }) => {
    return { id: String(id), channel: String(name), payload: String(payload) }
  })
}

function groupBy<T, Key>(items: readonly T[], keyOf: (item: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}
