import { systemClock } from '../../base/time/clock.ts'
import type { HintReceiver, HintStore, HintSubscription } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import type { Call } from '../wire/call.ts'
import { text } from '../connect/rows.ts'
import { joinTexts, listOf } from '../wire/lists.ts'
import { HintSender, type HintBatch } from './hint-sender.ts'
import type { Server } from './notifier.ts'
import type { Notification } from './payload.ts'
import type { SharedNotifier } from './shared-notifier.ts'

/** Hints of one workflow store, sent through its connections. */
export interface PostgresHints extends HintStore {
  /**
   * For a client: announces mail for these instances, unless `tell_mail` right behind its post did
   * so.
   */
  announceMailUnless(isNotified: Promise<boolean>, iids: readonly Iid[]): void
  /** Resolves when all hints so far are sent, or lost. */
  drain(): Promise<void>
}

/** Hints through LISTEN and NOTIFY. */
export function postgresHints(notifier: SharedNotifier, call: Call): PostgresHints {
  let listener = ''
  const sender = new HintSender({
    clock: systemClock(),
    send: (batch) => sendHints(call, batch),
    listener: () => listener,
    lost: () => notifier.testSoon(),
    isListening: () => listener !== '' && notifier.isListening,
  })
  const server = serverThrough(call)
  const undecided = new Set<Promise<void>>()
  return {
    announce: (announcement, origin) => sender.announce(announcement, origin),
    announceMailUnless(isNotified, iids) {
      const decide = async (): Promise<void> => {
        if (!(await isNotified)) sender.announce({ kind: 'mail', iids }, CLIENT)
        undecided.delete(decided)
      }
      const decided = decide()
      undecided.add(decided)
    },
    async drain() {
      await Promise.all(undecided)
      await sender.drain()
    },
    listen(given: HintReceiver): HintSubscription {
      const receive: HintReceiver['receive'] = (hint) => {
        if (hint.kind === 'joined') sender.joined()
        given.receive(hint)
      }
      const { clock, log } = given
      const subscription = notifier.listen(
        { clock, log, receive, interest: () => given.interest(), poll: () => given.poll() },
        server,
      )
      listener = subscription.id
      return subscription
    },
  }
}

/** How a listener sends notifications and finds its channels, by calls of procedures. */
export function serverThrough(call: Call): Server {
  let prefix: string | undefined
  return {
    send: async (notifications) => void (await sendHints(call, { ...NOTHING, notifications })),
    async channelOf(to) {
      if (prefix === undefined) {
        const [row] = await call('hint_channel', [''])
        prefix = text(row!, 'hint_channel')
      }
      return prefix + to
    },
  }
}

const CLIENT = { runtime: 0, hasRoom: false }
const NOTHING = { origin: CLIENT, mail: [], due: [], tasks: [] }

async function sendHints(call: Call, batch: HintBatch): Promise<boolean> {
  const { origin, mail, due, tasks, notifications } = batch
  const joined = (part: (one: Notification) => string): string =>
    joinTexts('notify', notifications.map(part))
  const [row] = await call('tell_hints', [
    origin.runtime,
    String(origin.hasRoom),
    listOf(mail),
    listOf(due),
    joinTexts(
      'notify',
      tasks.map(({ activity }) => activity),
    ),
    listOf(tasks.map(({ count }) => count)),
    listOf(tasks.map(({ pinned }) => pinned)),
    joined(({ to }) => to),
    joined(({ payload }) => payload),
    notifications.length,
  ])
  return text(row!, 'others') === 't'
}
