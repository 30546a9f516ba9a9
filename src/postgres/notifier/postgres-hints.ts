import { systemClock } from '../../base/time/clock.ts'
import type { HintReceiver, HintStore, Listening } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import type { Call } from '../wire/call.ts'
import { text } from '../connect/rows.ts'
import { joinTexts, listOf } from '../wire/lists.ts'
import { HintSender, type Parcel } from './hint-sender.ts'
import type { Server } from './notifier.ts'
import type { Letter } from './payload.ts'
import type { SharedNotifier } from './shared-notifier.ts'

/** Hints of one workflow store, sent through its connections. */
export interface PostgresHints extends HintStore {
  /** For a client: tells of mail for these instances, unless the call behind its post did so. */
  tellMailUnless(isTold: Promise<boolean>, iids: readonly Iid[]): void
  /** Resolves when all hints so far are sent, or lost. */
  drain(): Promise<void>
}

/** Hints through LISTEN and NOTIFY. */
export function postgresHints(notifier: SharedNotifier, call: Call): PostgresHints {
  let listener = ''
  const sender = new HintSender({
    clock: systemClock(),
    send: (parcel) => tellHints(call, parcel),
    listener: () => listener,
    lost: () => notifier.doubt(),
    hears: () => listener !== '' && notifier.hears,
  })
  let prefix: string | undefined
  const server: Server = {
    send: async (letters) => void (await tellHints(call, { ...NOTHING, letters })),
    async channelOf(to) {
      if (prefix === undefined) {
        const [row] = await call('hint_channel', [''])
        prefix = text(row!, 'hint_channel')
      }
      return prefix + to
    },
  }
  const undecided = new Set<Promise<void>>()
  return {
    tell: (news, teller) => sender.tell(news, teller),
    tellMailUnless(isTold, iids) {
      const decide = async (): Promise<void> => {
        if (!(await isTold)) sender.tell({ kind: 'mail', iids }, CLIENT)
        undecided.delete(decided)
      }
      const decided = decide()
      undecided.add(decided)
    },
    async drain() {
      await Promise.all(undecided)
      await sender.drain()
    },
    listen(given: HintReceiver): Listening {
      const hear: HintReceiver['hear'] = (hint) => {
        if (hint.kind === 'joined') sender.joined()
        given.hear(hint)
      }
      const { clock, log } = given
      const listening = notifier.listen(
        { clock, log, hear, interest: () => given.interest(), look: () => given.look() },
        server,
      )
      listener = listening.id
      return listening
    },
  }
}

const CLIENT = { runtime: 0, hasRoom: false }
const NOTHING = { teller: CLIENT, mail: [], due: [], tasks: [] }

async function tellHints(call: Call, parcel: Parcel): Promise<boolean> {
  const { teller, mail, due, tasks, letters } = parcel
  const joined = (part: (letter: Letter) => string): string => joinTexts('tell', letters.map(part))
  const [row] = await call('tell_hints', [
    teller.runtime,
    String(teller.hasRoom),
    listOf(mail),
    listOf(due),
    joinTexts(
      'tell',
      tasks.map(({ activity }) => activity),
    ),
    listOf(tasks.map(({ count }) => count)),
    listOf(tasks.map(({ pinned }) => pinned)),
    joined(({ to }) => to),
    joined(({ payload }) => payload),
    letters.length,
  ])
  return text(row!, 'others') === 't'
}
