import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { TransactionalContext } from '../../src/outbox/index.ts'
import { deferred, eventually } from '../support/engine.ts'
import { describeOutbox, items, upTo } from './support.ts'

const SOON = { retry: { delay: 5, maxDelay: 10 } }

describeOutbox('transactional handlers', (place) => {
  /** Writes into the table of the user, through the transaction of the handler. */
  const write = (ctx: TransactionalContext, entry: string, note: string): Promise<unknown> =>
    ctx.tx.query(`insert into ${place.entries} values ($1, $2)`, [entry, note])

  test('what a handler writes is committed with its message [transactional_success_advances_cursor] [transactional_batch_processes_multiple_in_single_tx] [on_complete_increments_counters]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { name } = numbers
    box.handleTransactional(numbers, async ({ seq }, ctx) => {
      await write(ctx, `${name} ${seq}`, name)
    })

    await place.send(box, numbers, ...items(upTo(3)))
    await box.drain()

    expect(await place.readEntries(name)).toEqual([1, 2, 3].map((seq) => `${name} ${seq}`))
    expect(box.health().totals).toMatchObject({ delivered: 3, retried: 0 })
  })

  test('what a failed handler wrote is undone, the messages before it stay done, and its attempt is counted [transactional_retry_increments_attempts] [tx_partial_retry_rolls_back_all] [untested_transactional_partial_writes]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { name } = numbers
    const calls: string[] = []
    box.handleTransactional(
      numbers,
      async ({ payload, attempt }, ctx) => {
        calls.push(`${payload}/${attempt}`)
        await write(ctx, `${name} ${payload}/${attempt}`, name)
        if (payload === 2 && attempt === 1) throw new Error('after writing')
      },
      SOON,
    )

    await place.send(box, numbers, ...items(upTo(3)))
    await box.drain()

    expect(calls).toEqual(['1/1', '2/1', '2/2', '3/1'])
    expect(await place.readEntries(name)).toEqual(
      ['1/1', '2/2', '3/1'].map((call) => `${name} ${call}`),
    )
  })

  test('a rejected message becomes a dead letter without what it wrote, and only it does [transactional_reject_creates_dead_letter_and_advances] [tx_partial_reject_processed_count_in_result] [tx_reject_at_first_msg_processed_count_zero] [tx_batch_handler_reject_deadletters_all]', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { name } = numbers
    box.handleTransactional(numbers, async ({ payload }, ctx) => {
      await write(ctx, `${name} ${payload}`, name)
      if (payload === 1 || payload === 3) ctx.reject('odd one out')
    })

    await place.send(box, numbers, ...items(upTo(5)))
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: name })
    expect(letters.map(({ message }) => message.seq).toSorted((a, b) => a - b)).toEqual([1, 3])
    expect(letters[0]).toMatchObject({
      reason: 'odd one out',
      status: 'pending',
      message: { attempt: 1 },
    })
    expect(await place.readEntries(name)).toEqual([2, 4, 5].map((n) => `${name} ${n}`))
  })

  test('an error of SQL fails its message alone, and is counted', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { name } = numbers
    box.handleTransactional(
      numbers,
      async ({ payload, attempt }, ctx) => {
        await write(ctx, `${name} ${payload}`, name)
        if (payload === 2 && attempt < 3) await ctx.tx.query('select nothing from nowhere')
      },
      SOON,
    )

    await place.send(box, numbers, ...items(upTo(3)))
    await box.drain()

    expect(await place.readEntries(name)).toEqual([1, 2, 3].map((n) => `${name} ${n}`))
    expect(box.health().totals).toMatchObject({ delivered: 3, retried: 2 })
  })

  test('values that are not an array fail their message, and are counted', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    box.handleTransactional(
      numbers,
      async (_, { tx }) => void (await tx.query('select 1', 'ab' as never)),
      { ...SOON, maxAttempts: 2 },
    )

    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(letters).toMatchObject([
      {
        reason: 'TypeError: transaction: the values of tx.query() must be an array, got "ab"',
        message: { attempt: 2 },
      },
    ])
  })

  test('a constraint of the user that keeps failing leads to a dead letter in the end', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { name } = numbers
    box.handleTransactional(
      numbers,
      async ({ payload }, ctx) => {
        // The second message wants what the first has taken.
        await write(ctx, `${name} ${payload === 2 ? 1 : payload}`, name)
      },
      { ...SOON, maxAttempts: 3 },
    )

    await place.send(box, numbers, ...items(upTo(3)))
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: name })
    expect(letters).toMatchObject([{ message: { payload: 2, attempt: 3 } }])
    expect(await place.readEntries(name)).toEqual([1, 3].map((n) => `${name} ${n}`))
  })

  test('a handler reads what it wrote, and what handlers before it wrote', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { name } = numbers
    const counts: number[] = []
    box.handleTransactional(numbers, async ({ payload }, ctx) => {
      await write(ctx, `${name} ${payload}`, name)
      const { rows, rowCount } = await ctx.tx.query(
        `select entry from ${place.entries} where note = $1`,
        [name],
      )
      counts.push(rows.length)
      expect(rowCount).toBe(rows.length)
    })

    await place.send(box, numbers, ...items(upTo(3)))
    await box.drain()

    expect(counts).toEqual([1, 2, 3])
  })

  test('a handler that forgets to await a statement does not write behind its transaction', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { name } = numbers
    let kept: TransactionalContext | undefined
    box.handleTransactional(numbers, async (_, ctx) => {
      kept = ctx
    })
    await place.send(box, numbers, { payload: 1 })
    await box.drain()

    await expect((async () => write(kept!, `${name} late`, name))()).rejects.toThrow('transaction')

    expect(await place.readEntries(name)).toEqual([])
  })

  test('statements that would end the transaction are refused, and lose nothing', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { name } = numbers
    box.handleTransactional(
      numbers,
      async ({ payload, attempt }, ctx) => {
        await write(ctx, `${name} ${payload}/${attempt}`, name)
        if (payload === 1 && attempt < 2) await ctx.tx.query('commit')
      },
      { ...SOON, maxAttempts: 5 },
    )

    await place.send(box, numbers, ...items([1, 2]))
    await box.drain()

    expect(await place.readEntries(name)).toEqual([`${name} 1/2`, `${name} 2/1`])
  })

  test('the savepoint of a handler has a name that it cannot guess', async () => {
    const box = place.outbox()
    const names = place.topic<string>()
    const { name: note } = names
    box.handleTransactional(names, async ({ payload }, ctx) => {
      await write(ctx, `${note} ${payload}`, note)
      try {
        await ctx.tx.query(`release savepoint ${payload}`)
      } catch {
        ctx.reject('no such savepoint')
      }
    })

    await place.send(box, names, ...items(['holdfast', 'holdfast_attempt', 'holdfast_outbox']))
    await box.drain()

    expect(await box.deadLetters.count({ topic: note })).toBe(3)
    expect(await place.readEntries(note)).toEqual([])
  })

  test('a handler enqueues in its transaction on PostgreSQL, and gets an error on SQLite', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const others = place.topic<number>()
    const seen: number[] = []
    box.handle(others, async ({ payload }) => void seen.push(payload))
    box.handleTransactional(numbers, async ({ payload }, ctx) => {
      try {
        await box.in(ctx.tx).enqueue(others, payload + 1)
      } catch (error) {
        ctx.reject((error as Error).message)
      }
    })

    await place.send(box, numbers, ...items([1]))
    await box.drain()
    await box.drain()

    const { items: letters } = await box.deadLetters.list({ topic: numbers.name })
    expect(seen).toEqual(place.kind === 'sqlite' ? [] : [2])
    expect(letters.map(({ reason }) => reason)).toEqual(
      place.kind === 'postgres'
        ? []
        : [
            'in: the tx of a transactional handler cannot be used here on SQLite, only on PostgreSQL; ' +
              'use handle() and a transaction of your own, which enqueues, starts or sends',
          ],
    )
  })

  test('skip works in transactions, too', async () => {
    const box = place.outbox()
    const numbers = place.topic<number>()
    const { name } = numbers
    let mayPass = false
    let done = 0
    box.handleTransactional(
      numbers,
      async ({ payload }, ctx) => {
        await write(ctx, `${name} ${payload}`, name)
        if (payload === 1 && !mayPass) throw new Error('stuck')
        done++
      },
      { ...SOON, whenStuck: 'skip' },
    )
    await box.start()
    await place.send(
      box,
      numbers,
      { payload: 1, key: 'a' },
      { payload: 2, key: 'b' },
      { payload: 3, key: 'a' },
    )
    await eventually(() => done > 0)
    const before = await eventually(() => place.readEntries(name))
    mayPass = true
    await box.drain()

    expect(before).toEqual([`${name} 2`])
    expect(await place.readEntries(name)).toEqual([1, 2, 3].map((n) => `${name} ${n}`))
  })

  test('lease is an unknown option of transactional handlers', () => {
    const box = place.outbox()
    const numbers = place.topic<number>()

    expect(() =>
      box.handleTransactional(numbers, async () => {}, { lease: '1s' } as never),
    ).toThrow(`handleTransactional: topic "${numbers.name}": unknown option "lease"`)
  })
})

describeOutbox(
  'transactional handlers',
  (place) => {
    test('a message whose statement rolls the transaction back is counted', async () => {
      const box = place.outbox()
      const words = place.topic<string>()
      const { name } = words
      box.handleTransactional(
        words,
        async ({ payload }, { tx }) => {
          const entry = payload === 'poison' ? 'before' : payload
          await tx.query(`insert or rollback into ${place.entries} values (?, ?)`, [
            `${name} ${entry}`,
            name,
          ])
        },
        { ...SOON, maxAttempts: 2 },
      )

      await place.send(box, words, ...items(['before', 'poison', 'after']))
      await box.drain({ timeout: 5_000 })

      const { items: letters } = await box.deadLetters.list({ topic: name })
      expect(letters).toMatchObject([{ message: { payload: 'poison', attempt: 2 } }])
      expect(await place.readEntries(name)).toEqual([`${name} after`, `${name} before`])
    })
  },
  ['sqlite'],
)

describeOutbox(
  'transactional handlers',
  (place) => {
    test('a statement that hangs does not hold up a stop', async () => {
      const box = place.outbox()
      const numbers = place.topic<number>(2)
      const hang = `select pg_sleep(50) as "${numbers.name}"`
      const running = () =>
        place.sql(`select 1 from pg_stat_activity where state = 'active' and query = ?`, hang)
      box.handleTransactional(numbers, async (_, { tx }) => {
        await tx.query(hang)
      })
      await box.start()
      await place.send(box, numbers, ...items([1, 2]))
      await eventually(async () => (await running()).length === 2)

      const before = performance.now()
      await box.stop({ within: 500 })

      expect(performance.now() - before).toBeLessThan(10_000)
      await eventually(async () => (await running()).length === 0)
    })

    test.each<[string, string, unknown[]?]>([
      ['a wrong number of values', 'select $1::int, $2::int', [1]],
      ['a feature that the server does not have', 'select count(*) from pg_class for update'],
      ['a missing prepared statement', 'execute nothing_of_this_name'],
      ['a code of its own', `do $$ begin raise exception 'x' using errcode = '57P01'; end $$`],
      [
        'a value that the driver cannot send',
        'select $1::text',
        [
          {
            toJSON() {
              throw new Error('no JSON')
            },
          },
        ],
      ],
    ])('%s fails a message alone, and is counted', async (_, text, values) => {
      const box = place.outbox()
      const numbers = place.topic<number>()
      const { name } = numbers
      box.handleTransactional(
        numbers,
        async ({ payload }, ctx) => {
          const entry = [`${name} ${payload}`, name]
          await ctx.tx.query(`insert into ${place.entries} (entry, note) values ($1, $2)`, entry)
          if (payload === 1) await ctx.tx.query(text, values)
        },
        { ...SOON, maxAttempts: 2 },
      )

      await place.send(box, numbers, ...items([1, 2]))
      await box.drain({ timeout: 5_000 })

      const { items: letters } = await box.deadLetters.list({ topic: name })
      expect(letters).toMatchObject([{ message: { payload: 1, attempt: 2 } }])
      expect(await place.readEntries(name)).toEqual([`${name} 2`])
    })

    test('a handler that hangs between its statements holds up no stop', async () => {
      const box = place.outbox()
      const numbers = place.topic<number>()
      const begun = deferred()
      box.handleTransactional(numbers, async (_, { tx }) => {
        await tx.query('select 1')
        begun.resolve()
        await new Promise(() => {})
      })
      await box.start()
      await place.send(box, numbers, { payload: 1 })
      await begun.promise

      const before = performance.now()
      await box.stop({ within: 200 })

      // Its grace alone would be two seconds.
      expect(performance.now() - before).toBeLessThan(1_500)
    })

    test('a message that costs its handler the connection is counted, and holds up no other', async () => {
      const box = place.outbox()
      const words = place.topic<string>()
      const { name } = words
      box.handleTransactional(
        words,
        async ({ payload }, { tx }) => {
          await tx.query(`insert into ${place.entries} values ($1, $2)`, [
            `${name} ${payload}`,
            name,
          ])
          if (payload === 'poison') await tx.query('select pg_terminate_backend(pg_backend_pid())')
        },
        { ...SOON, maxAttempts: 2 },
      )

      await place.send(box, words, ...items(['before', 'poison', 'after']))
      await box.drain({ timeout: 5_000 })

      const { items: letters } = await box.deadLetters.list({ topic: name })
      expect(letters).toMatchObject([{ message: { payload: 'poison', attempt: 2 } }])
      expect(await place.readEntries(name)).toEqual([`${name} after`, `${name} before`])
      const { id } = letters[0]!.message
      const retried = 'handler failed; the message is retried'
      expect(place.log.lines.filter(({ message }) => message === retried)).toMatchObject([
        { data: { id, attempt: 1 } },
      ])
    })

    test('several statements in one text are refused, and lose nothing', async () => {
      const box = place.outbox()
      const numbers = place.topic<number>()
      const { name } = numbers
      box.handleTransactional(
        numbers,
        async ({ payload, attempt }, { tx }) => {
          await tx.query(`insert into ${place.entries} values ($1, $2)`, [
            `${name} ${payload}/${attempt}`,
            name,
          ])
          if (attempt < 2) await tx.query('select 1; commit; begin')
        },
        SOON,
      )

      await place.send(box, numbers, ...items([1, 2]))
      await box.drain()

      expect(await place.readEntries(name)).toEqual([`${name} 1/2`, `${name} 2/2`])
    })
  },
  ['postgres'],
)

describeOutbox(
  'transactional handlers that wait',
  (place) => {
    test.each([
      ['the next round of the event loop', () => nextRound()],
      ['time', () => sleep(1)],
    ])(
      'what one does after its transaction was rolled back counts for nothing: it waits for %s',
      async (_, wait) => {
        const box = place.outbox()
        const numbers = place.topic<number>()
        const { name } = numbers
        const calls: string[] = []
        let waits = 0
        box.handleTransactional(
          numbers,
          async ({ payload, attempt }, ctx) => {
            calls.push(`${payload}/${attempt}`)
            await ctx.tx.query(`insert into ${place.entries} values ($1, $2)`, [
              `${name} ${payload}`,
              name,
            ])
            if (payload === 1 && waits++ < 2) await wait()
          },
          SOON,
        )

        await place.send(box, numbers, ...items(upTo(3)))
        await box.drain()

        // First nobody is to blame: then the message is alone, and its attempt is counted, once.
        expect(calls).toEqual(['1/1', '1/1', '1/2', '2/1', '3/1'])
        expect(await place.readEntries(name)).toEqual(upTo(3).map((n) => `${name} ${n}`))
        expect(box.health().totals).toMatchObject({ delivered: 3, retried: 1, dead: 0 })
        expect(place.log.at('error')).toEqual([])
        expect(place.log.at('warn')).toEqual([
          'handler transaction failed; nothing was committed; retrying one message at a time',
          'handler failed; the message is retried',
        ])
      },
    )
  },
  ['sqlite'],
)
