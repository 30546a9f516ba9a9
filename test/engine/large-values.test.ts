// Hundreds of megabytes: calls and reads are bounded by bytes, not only by count, so that a large
// value delays no other and one that is too large fails alone.

import { expect, test } from 'vitest'
import { channel, workflow } from '../../src/index.ts'
import { describeOnStores, openSpace } from '../support/engine.ts'

const MEGABYTE = 1 << 20
// By default just enough to need many calls. `HOLDFAST_TEST_MEGABYTES=320` is more than one call to
// PostgreSQL, or one text in JavaScript, can carry, and takes a minute.
const MEGABYTES = Number(process.env['HOLDFAST_TEST_MEGABYTES'] ?? 24)
const READ = Math.min(MEGABYTES, 40)
const options = { timeout: 120_000 }
const large = 'x'.repeat(MEGABYTE)

const REFUSED = expect.stringMatching(
  /^(start|post): this has 2684\d{5} characters, and PostgreSQL accepts 268435456 at once/,
) as string

const notes = channel<string>('notes')
const other = channel<string>('other')
const idle = workflow('idle', async (_: string, ctx) => ctx.sleep('1h'))
const count = workflow('count', async (wanted: number, ctx) => {
  let length = 0
  for (let n = 0; n < wanted; n++) length += (await ctx.receive(notes)).length
  return length
})
const either = workflow('either', async (_: undefined, ctx) => ctx.receive(other))

describeOnStores(
  'large values',
  (kind) => {
    test('starts of a megabyte at once succeed, and small ones among them', options, async () => {
      await using space = await openSpace(kind)
      const client = space.connect()
      const inputs = Array.from({ length: MEGABYTES }, (_, n) => (n % 8 === 0 ? 'small' : large))

      const started = await Promise.all(
        inputs.map((input, n) => client.start(idle, input, { id: `large-${n}` })),
      )

      expect(started).toHaveLength(inputs.length)
      expect(await client.get(`large-${MEGABYTES - 1}`).info()).toBeDefined()
    })

    test(
      'messages of a megabyte at once arrive, and are read a part at a time',
      options,
      async () => {
        await using space = await openSpace(kind)
        const client = space.connect()
        await Promise.all([
          ...Array.from({ length: MEGABYTES }, () => client.get('crowded').send(notes, large)),
          ...Array.from({ length: READ }, () => client.get('reader').send(notes, large)),
          client.get('crowded').send(other, 'small'),
        ])
        const runtime = await space.open([count, either])

        // What no code waits for is not read.
        expect(await runtime.run(either, undefined, { id: 'crowded' })).toBe('small')
        expect(await runtime.run(count, READ, { id: 'reader' })).toBe(READ * MEGABYTE)
      },
    )
  },
  ['file', 'postgres'],
)

test.runIf(MEGABYTES > 256)(
  'a value that is too large for PostgreSQL is refused alone, with its size',
  options,
  async () => {
    await using space = await openSpace('postgres')
    // Their own limit is far lower; without it, the store refuses them.
    const client = space.connect({ limits: { inputBytes: 2 ** 30, messageBytes: 2 ** 30 } })
    const tooLarge = 'x'.repeat(2 ** 28)

    const [first, start, last, send] = await Promise.allSettled([
      client.start(idle, 'small', { id: 'first' }),
      client.start(idle, tooLarge, { id: 'too large' }),
      client.start(idle, 'small', { id: 'last' }),
      client.get('first').send(notes, tooLarge),
    ])

    expect([first.status, last.status]).toEqual(['fulfilled', 'fulfilled'])
    expect([start, send]).toMatchObject([
      { reason: { code: 'rejected', message: REFUSED } },
      { reason: { code: 'rejected', message: REFUSED } },
    ])
  },
)
