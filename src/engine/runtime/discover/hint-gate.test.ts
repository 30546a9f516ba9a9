import { expect, test } from 'vitest'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import { CREDIT_MS, HintGate, MAX_CREDIT, type WorkHint } from './hint-gate.ts'

function scene() {
  const clock = virtualClock()
  const followed: WorkHint[] = []
  const gate = new HintGate(clock)
  gate.open({ follow: (hint) => void followed.push(hint) })
  const work = (...iids: number[]): void => gate.receive({ kind: 'work', iids, at: 0 })
  const spend = (): void => {
    for (let i = 0; i < MAX_CREDIT; i++) work(0)
    followed.length = 0
  }
  return { clock, followed, gate, work, spend }
}

test('hints pass at once while there is credit', () => {
  const { followed, work } = scene()

  for (let i = 1; i <= MAX_CREDIT; i++) work(i)

  expect(followed).toHaveLength(MAX_CREDIT)
})

test('however many hints turn out to be wrong, only so many pass', async () => {
  const { clock, followed, work } = scene()

  for (let ms = 0; ms < 10_000; ms++) {
    for (let i = 0; i < 10; i++) work(ms)
    await clock.advance(1)
  }

  expect(followed.length).toBeLessThanOrEqual(MAX_CREDIT + 10_000 / CREDIT_MS + 1)
})

test('hints that are true are never delayed', () => {
  const { followed, gate, work } = scene()

  for (let i = 1; i <= 10_000; i++) {
    work(i)
    gate.found(1)
  }

  expect(followed).toHaveLength(10_000)
})

test('gathered hints pass as one of each kind, and nothing is lost', async () => {
  const { clock, followed, gate, work, spend } = scene()
  spend()

  work(1)
  work(2, 1)
  gate.receive({ kind: 'work', iids: [], at: 9_000 })
  gate.receive({ kind: 'work', iids: [], at: 8_000 })
  gate.receive({ kind: 'work', iids: [], at: 0 })
  gate.receive({ kind: 'tasks', activities: ['a'], at: 0 })
  gate.receive({ kind: 'tasks', activities: ['b'], at: 5 })
  gate.receive({ kind: 'recalled', iids: [3] })
  gate.receive({ kind: 'recalled', iids: [3, 4] })
  gate.receive({ kind: 'dropped', tasks: [{ iid: 1, execution: 1, command: 2 }] })
  expect(followed).toEqual([])
  await clock.advance(CREDIT_MS)

  expect(followed).toEqual([
    { kind: 'recalled', iids: [3, 4] },
    { kind: 'dropped', tasks: [{ iid: 1, execution: 1, command: 2 }] },
    { kind: 'work', iids: [1, 2], at: 0 },
    { kind: 'work', iids: [], at: 0 },
    { kind: 'work', iids: [], at: 8_000 },
    { kind: 'tasks', activities: ['a', 'b'], at: 0 },
  ])
})

test('work that is found lets the next hints pass at once', () => {
  const { followed, gate, work, spend } = scene()
  spend()
  work(1)

  gate.found(1)

  expect(followed).toEqual([{ kind: 'work', iids: [1], at: 0 }])
})

test('too many instances become one query for everything', async () => {
  const { clock, followed, work, spend } = scene()
  spend()

  for (let i = 1; i <= 20_000; i += 100) work(...Array.from({ length: 100 }, (_, n) => i + n))
  await clock.advance(CREDIT_MS)

  expect(followed).toContainEqual({ kind: 'work', iids: [], at: 0 })
  expect(JSON.stringify(followed).length).toBeLessThan(100_000)
})

test('a closed gate lets nothing pass and leaves no timer', async () => {
  const { clock, followed, gate, work, spend } = scene()
  spend()
  work(1)

  gate.close()
  await clock.advance('1m')

  expect(followed).toEqual([])
  expect(clock.pending).toBe(0)
})
