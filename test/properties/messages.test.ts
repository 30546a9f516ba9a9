import { expect, test } from 'vitest'

import { channel } from '../../src/index.ts'
import type { InboxRow } from '../../src/store/inbox.ts'
import { completed, play, values } from '../support/executions.ts'
import { Dice } from '../support/programs.ts'
import { CHANNELS, eventsOf, type RandomInstance } from './random-instance.ts'
import { forLives, ofMany } from './seeds.ts'

const isMessage = ({ kind }: InboxRow): boolean => kind === 'message'
const ids = (rows: readonly InboxRow[]): number[] => rows.map(({ id }) => id)

/** The messages that the turns of a life took out of the inbox. */
function takenMessages({ executions, posted }: RandomInstance): InboxRow[] {
  const byId = new Map(posted.map((row) => [row.id, row]))
  const taken = executions.flatMap(({ turns }) => turns.flatMap(({ decision }) => decision.taken))
  return taken.map((id) => byId.get(id)!).filter(isMessage)
}

test('each message is received once, or still waits', async () => {
  let [received, waiting] = [0, 0]

  const runs = await forLives((registration) => {
    const taken = takenMessages(registration)
    const left = registration.waiting.filter(isMessage)
    const all = registration.posted.filter(isMessage)
    const { inbox } = registration.executions.at(-1)!.player.instance
    const inMemory = inbox.messages.map(({ inboxId }) => inboxId)

    expect([...ids(taken), ...ids(left)].toSorted((a, b) => a - b)).toEqual(ids(all))
    expect(inMemory.toSorted((a, b) => a - b)).toEqual(ids(left))
    expect(left.every(({ parked }) => parked)).toBe(true)
    received += taken.length
    waiting += left.length
  })

  expect(received / runs).toBeGreaterThan(ofMany(0.5))
  expect(waiting / runs).toBeGreaterThan(ofMany(0.5))
})

test('the code is handed the messages that history says it received, each once', async () => {
  await forLives((registration) => {
    for (const lived of registration.executions) {
      const recorded = eventsOf(lived).flatMap((event) =>
        event.type === 'received' ? [values.value(event.value)] : [],
      )

      expect(lived.player.received).toEqual(recorded)
    }
    const handed = registration.executions.flatMap(({ player }) => player.received)

    expect(handed).toEqual(takenMessages(registration).map(({ payload }) => values.value(payload!)))
  })
})

test('of the receives that are still open the first gets the first message', async () => {
  let [received, givenUp] = [0, 0]

  const runs = await forLives(({ executions, posted }) => {
    const channels = new Map(
      CHANNELS.map((name) => [name, posted.filter((row) => isMessage(row) && row.name === name)]),
    )
    for (const lived of executions) {
      let wanted: { readonly command: number; readonly name: string }[] = []
      for (const event of eventsOf(lived)) {
        if (event.type === 'receive') wanted.push(event)
        if (event.type === 'dropped' || event.type === 'fired') {
          const before = wanted.length
          wanted = wanted.filter(({ command }) => command !== event.command)
          givenUp += before - wanted.length
        }
        if (event.type !== 'received') continue
        const { name } = wanted.find(({ command }) => command === event.command)!
        const first = wanted.find((receive) => receive.name === name)!
        const message = channels.get(name)!.shift()!

        expect(event).toMatchObject({ command: first.command, value: message.payload })
        expect(event.replyTo).toBe(message.replyTo)
        wanted = wanted.filter((receive) => receive !== first)
        received++
      }
    }
  })

  expect(received / runs).toBeGreaterThan(ofMany(0.5))
  expect(givenUp / runs).toBeGreaterThan(ofMany(0.2))
})

test('a request is answered at most once, at its sender', async () => {
  let answered = 0

  const runs = await forLives(({ executions }) => {
    for (const lived of executions) {
      const asked = new Map<string, unknown>()
      for (const event of eventsOf(lived)) {
        if (event.type === 'received' && event.replyTo !== '') {
          asked.set(event.replyTo, values.value(event.value))
        }
        if (event.type !== 'replied') continue

        expect([...asked.keys()]).toContain(event.to)
        const question = values.encode(asked.get(event.to), 'question')
        expect(event.value).toContain(event.ok ? question : 'RefusedInProgram')
        asked.delete(event.to)
        answered++
      }
    }
  })

  expect(answered / runs).toBeGreaterThan(ofMany(0.05))
})

test('ctx.race hands over every message that its branches receive', async () => {
  for (let seed = 0; seed < 100; seed++) {
    const dice = new Dice(seed)
    const handed: unknown[] = []
    const { instance, turn } = play(async (ctx) => {
      for (;;) {
        const first = await ctx.race({
          red: ctx.receive(RED),
          either: (inner) => inner.race({ red: inner.receive(RED), blue: inner.receive(BLUE) }),
          blue: ctx.receive(BLUE, { timeout: '1d' }),
          step: ctx.step('slow', () => 0),
        })
        handed.push(first.key === 'either' ? first.value.value : first.value)
      }
    })
    const sent: number[] = []
    const taken: unknown[] = []
    for (let at = 1; at < 30; at++) {
      for (let count = dice.below(4); count > 0; count--) {
        const row = post(sent.length, dice.pick(['red', 'blue']))
        sent.push(row.id)
        instance.inbox.receive([row])
      }
      const open = [...instance.run.open.values()].filter(({ event }) => event.type === 'step')
      const step = dice.oneIn(3) ? open.map(({ event }) => completed(event.command, 'step')) : []
      const { events } = await turn(at, ...step)
      taken.push(
        ...events.flatMap((event) => (event.type === 'received' ? values.value(event.value) : [])),
      )
    }

    expect(handed.filter((value) => value !== 'step')).toEqual(taken)
    expect((taken as number[]).toSorted((a, b) => a - b)).toEqual(sent)
  }
})

const RED = channel<number>('red')
const BLUE = channel<number>('blue')

function post(id: number, name: string): InboxRow {
  const payload = values.encode(id, 'message')
  const rest = { execution: 0, command: 0, replyTo: '', parked: false }
  return { id, kind: 'message', name, payload, ...rest }
}
