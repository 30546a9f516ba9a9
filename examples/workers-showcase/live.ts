import { setTimeout as passTime } from 'node:timers/promises'
import { type Health, idle, notify, type StopReport, supervise, worker } from 'holdfast/workers'
import type { Narrator } from './stage.ts'

/** Runs two supervised workers on the real clock for about a second, and stops them. */
export async function runLive(narrate: Narrator): Promise<StopReport> {
  const startedMs = performance.now()
  const say = (who: string, what: string): void => narrate(performance.now() - startedMs, who, what)

  const inbox = notify()
  let mails = 0
  const mailer = worker('mailer', { wakeOn: [inbox] }, async () => {
    await passTime(20)
    say('mailer', `mail ${++mails} is sent`)
    return idle()
  })

  let probes = 0
  const probe = worker('probe', { every: '150ms', backoff: { initial: '200ms' } }, async () => {
    // Fails once, so that there is a backoff to be seen.
    if (++probes === 2) throw new Error('connection refused')
    say('probe', 'all is well')
    return idle()
  })

  await using app = supervise([mailer, probe])
  for (let round = 0; round < 3; round++) {
    inbox.notifyOne()
    await passTime(310)
    for (const health of app.health()) say('health', healthText(health))
  }
  say('stop', 'no new passes; running ones may finish')
  const report = await app.stop({ within: '1s' })
  for (const health of app.health()) say('health', healthText(health))
  return report
}

function healthText({ name, state, lastError, nextWakeAt }: Health): string {
  const because = lastError === undefined ? '' : ` (${lastError})`
  const wakes = nextWakeAt && `, wakes in ${nextWakeAt.getTime() - Date.now()} ms`
  return `${name} is ${state}${because}${wakes ?? ''}`
}
