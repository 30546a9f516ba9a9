import { expect, test } from 'vitest'
import { LIMIT_MS, runExample, sqliteFile, WELL } from '../../test/support/example.ts'

test(
  'dead letters are listed, replayed, requeued and discarded',
  {
    timeout: LIMIT_MS,
  },
  async () => {
    using store = sqliteFile()

    const ended = await runExample('12-dead-letters', store.url)

    expect(ended).toEqual({
      ...WELL,
      lines: [
        'letter 2 to ada: delivered',
        'dead letter 1: message 1, pending, no address of ben',
        'dead letter 2: message 3, pending, no address of cyd',
        'dead letter 3: message 4, pending, no address of dot',
        'replay: letter to ben is reprocessing',
        'resolved: 1',
        'requeued: 1',
        'letter 3 to cyd: delivered',
        'discarded: 1',
        'left pending: 0',
        'kept for the record: 2',
        'removed: 2',
      ],
    })
  },
)
