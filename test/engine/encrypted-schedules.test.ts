import { expect, test } from 'vitest'

import { compression, encryption, workflow } from '../../src/index.ts'
import { describeOnStoresAtOnce, eventually, openSpace } from '../support/engine.ts'

const FIRST = { id: 'first', key: new Uint8Array(32).fill(1) }
const SECOND = { id: 'second', key: new Uint8Array(32).fill(2) }
const withKeys = (...keys: (typeof FIRST)[]) => [compression(), encryption({ keys })]

const note = workflow('note', async (text: string) => `noted ${text}`)
const EVERY_SECOND = { every: '1s', overlap: 'allow' } as const

describeOnStoresAtOnce('schedules behind encryption', (kind) => {
  test('the same call again changes nothing, and an instance gets its input', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(note, { codec: withKeys(FIRST) })
    const set = () => holdfast.schedule('same', { every: '10m' }, note, 'hi', { priority: 3 })
    await set()
    const before = await holdfast.schedules.get('same')

    await set()

    expect(await holdfast.schedules.get('same')).toEqual(before)
    const instance = await holdfast.schedules.trigger('same')
    expect(await instance.result()).toBe('noted hi')
  })

  test('one that a runtime cannot read says so, and does not keep back the others', async () => {
    await using space = await openSpace(kind)
    await space
      .connect({ codec: withKeys(FIRST) })
      .schedule('lost', EVERY_SECOND, note, 'of the first key')
    const holdfast = await space.open(note, { codec: withKeys(SECOND) })
    await holdfast.schedule('fine', EVERY_SECOND, note, 'of the second key')

    const [fine, lost] = await eventually(async () => {
      const both = await holdfast.schedules.list()
      return both[0]!.started > 0 && both[1]!.lastError !== undefined && both
    })

    expect(fine).toMatchObject({ name: 'fine', overlap: 'allow' })
    expect(lost).toMatchObject({ name: 'lost', every: 1_000, started: 0 })
    expect(lost!.lastError!.message).toBe(
      'codec: cannot read a stored value: it is encrypted with the key "first", and the keys of this process are "second"; add it to the keys of encryption()',
    )
    expect(lost).not.toHaveProperty('overlap')
    await expect(holdfast.schedules.trigger('lost')).rejects.toThrow('the key "first"')
    const plain = await space.connect().schedules.list()
    expect(plain.map(({ name, every }) => [name, every])).toEqual([
      ['fine', 1_000],
      ['lost', 1_000],
    ])

    // Setting it again replaces what cannot be read.
    await holdfast.schedule('lost', EVERY_SECOND, note, 'of the second key')
    const { lastRun } = await eventually(async () => {
      const info = await holdfast.schedules.get('lost')
      return info?.lastRun !== undefined && info
    })
    const instance = holdfast.get(note, lastRun!.instanceId)
    expect(await instance.result()).toBe('noted of the second key')
  })

  test('a runtime that cannot read one leaves it to those that can', async () => {
    await using space = await openSpace(kind)
    const other = workflow('other', async () => undefined)
    const unable = await space.open(other, { codec: withKeys(SECOND) })
    const client = space.connect({ codec: withKeys(FIRST) })
    await client.schedule('ours', EVERY_SECOND, note, 'of the first key')
    await eventually(async () => (await unable.schedules.get('ours'))!.lastError !== undefined)

    await space.open(note, { codec: withKeys(FIRST) })

    const ours = await eventually(async () => {
      const info = (await client.schedules.get('ours'))!
      return info.started >= 3 && info
    })
    expect(ours.lastError).toBeUndefined()
  })
})
