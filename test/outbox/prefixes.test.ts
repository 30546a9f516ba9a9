import { expect, test } from 'vitest'
import { describeOutbox, items, recorder, upTo } from './support.ts'

describeOutbox('prefixes', (place) => {
  /** Names of tables with this prefix. */
  const tables = async (prefix: string): Promise<string[]> => {
    const rows = await place.sql<{ name: string }>(
      place.kind === 'sqlite'
        ? `select name from sqlite_schema where type = 'table' order by name`
        : `select table_name as name from information_schema.tables
           where table_schema = current_schema() order by table_name`,
    )
    return rows.map(({ name }) => name).filter((name) => name.startsWith(`${prefix}_`))
  }

  test('the tables of a prefix are created at its first use, and only those [migrations_create_custom_table_family] [custom_prefix_builder_registers_queue]', async () => {
    const box = place.outbox({ prefix: 'billing' })
    await place.send(box, place.topic<number>(), { payload: 1 })

    const created = await tables('billing')

    expect(created).toContain('billing_messages')
    expect(created).toContain('billing_dead_letters')
    expect(await tables('outbox')).toEqual([])
  })

  test('without a prefix the tables are called outbox [migrations_create_default_table_family] [default_prefix_builder_enqueue_uses_default_tables] [migrations_create_default_and_custom_table_families_together]', async () => {
    await place.send(place.outbox(), place.topic<number>(), { payload: 1 })
    await place.send(place.outbox({ prefix: 'second' }), place.topic<number>(), { payload: 1 })

    const ours = await tables('outbox')
    expect(ours).toContain('outbox_messages')
    expect(await tables('second')).toEqual(ours.map((name) => name.replace('outbox', 'second')))
  })

  test('messages of two prefixes do not mix [default_and_custom_prefix_instances_coexist] [custom_prefix_processes_message_without_default_tables]', async () => {
    const numbers = place.topic<number>()
    const boxes = [place.outbox(), place.outbox({ prefix: 'apart' })] as const
    const seen = boxes.map((box) => {
      const { run, payloads } = recorder()
      box.handle(numbers, run)
      return payloads
    })
    await Promise.all(boxes.map((box) => box.start()))

    await place.send(boxes[0], numbers, ...items([1, 2]))
    await place.send(boxes[1], numbers, ...items([10, 20, 30]))
    await Promise.all(boxes.map((box) => box.drain()))

    expect(seen.map((payloads) => payloads())).toEqual([
      [1, 2],
      [10, 20, 30],
    ])
  })

  test('two prefixes can be used in one transaction', async () => {
    const numbers = place.topic<number>()
    const boxes = [place.outbox({ prefix: 'left' }), place.outbox({ prefix: 'right' })]
    const totals = boxes.map((box) => {
      const { run, payloads } = recorder()
      box.handle(numbers, run)
      return payloads
    })
    const transaction = await place.begin()
    for (const box of boxes) await box.in(transaction.tx).enqueue(numbers, 1)
    await transaction.commit()

    await Promise.all(boxes.map((box) => box.drain()))

    expect(totals.map((payloads) => payloads())).toEqual([[1], [1]])
  })

  test('dead letters belong to their prefix [custom_prefix_dead_letter_uses_custom_table]', async () => {
    const numbers = place.topic<number>()
    const box = place.outbox({ prefix: 'letters' })
    box.handle(numbers, async (_, ctx) => ctx.reject('no'))
    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    expect(await box.deadLetters.count({ topic: numbers.name })).toBe(1)
    expect(await place.outbox().deadLetters.count({ topic: numbers.name })).toBe(0)
    expect(await place.sql('select 1 from letters_dead_letters')).toHaveLength(1)
  })

  test.each(['outbox_messages', 'my_outbox_keys', 'outbox_outbox'])(
    'a prefix may contain names of the default, such as %s [custom_prefix_containing_default_body_token_registers_and_enqueues]',
    async (prefix) => {
      const box = place.outbox({ prefix })
      const numbers = place.topic<number>(2)
      const { payloads, run } = recorder()
      box.handle(numbers, run)

      await place.send(box, numbers, ...items(upTo(3), { key: 'k', dedupeKey: undefined }))
      await box.drain()

      expect(payloads()).toEqual(upTo(3))
      expect(await tables(prefix)).toContain(`${prefix}_messages`)
    },
  )

  test('opening again changes nothing [migration_up_is_rerunnable_over_a_fully_created_schema]', async () => {
    const numbers = place.topic<number>()
    for (let i = 1; i <= 2; i++) {
      const box = place.outbox({ prefix: 'again' })
      const { seen, run } = recorder()
      box.handle(numbers, run)
      await place.send(box, numbers, { payload: i })
      await box.drain()
      await box.stop()
      expect(seen).toMatchObject([{ payload: i, seq: i }])
    }
  })

  test('processes that create the same tables at the same time do not fail', async () => {
    const numbers = place.topic<number>()
    const boxes = upTo(4).map(() => place.outbox({ prefix: 'crowd' }))

    await Promise.all(boxes.map((box) => box.start()))
    await place.send(boxes[0]!, numbers, { payload: 1 })

    expect(await place.sql('select 1 from crowd_messages')).toHaveLength(1)
  })

  test('tables of others with such names are reported, with the advice to use another prefix', async () => {
    const table = place.entries.replace('entries', 'taken_keys')
    await place.sql(`create table ${table} (door text)`)
    const box = place.outbox({ prefix: 'taken' })

    await expect(box.start()).rejects.toMatchObject({
      name: 'StoreError',
      code: 'misconfigured',
      message: expect.stringMatching(/table "taken_keys"; nothing was changed; use another prefix/),
    })

    expect(await tables('taken')).toEqual(['taken_keys'])
  })

  test('an invalid prefix is refused', () => {
    expect(() => place.outbox({ prefix: 'My-Box' })).toThrow(
      new TypeError(
        'outbox: prefix must be 1 to 36 lower-case letters, digits or underscores and begin with a ' +
          'letter, got "My-Box"',
      ),
    )
  })
})
