import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMIT_MS, sqliteFile } from '../../test/support/example.ts'
import { testProgram } from '../../test/support/test-program.ts'

const SHOP = testProgram(join(import.meta.dirname, 'shop.ts'))
const WORKER = testProgram(join(import.meta.dirname, 'worker.ts'))

describe('the example of two processes', { timeout: LIMIT_MS }, () => {
  test('an order placed in one process is processed in the other, even after a kill', async () => {
    using store = sqliteFile()
    const shop = (...args: readonly string[]): Promise<string> => run(args, store.url)

    expect(await shop('place', 'o-1', 'piano', '50000')).toBe('o-1: placed\n')
    expect(await shop('show', 'o-1')).toBe(
      'o-1: scheduled a runtime that registers workflow "order" (no live runtime does)\n',
    )

    using first = await startWorker(store.url)
    expect(await shop('place', 'o-2')).toBe('o-2: placed\n')
    expect(await shop('wait', 'o-2')).toBe('o-2: the tea is on its way\n')
    await first.end('SIGKILL')

    expect(await shop('approve', 'o-1')).toBe('o-1: approved\n')
    using second = await startWorker(store.url)
    expect(await shop('wait', 'o-1')).toBe('o-1: the piano is on its way\n')

    expect(await second.end('SIGTERM')).toEqual([0, null])
  })
})

/** Runs the shop to its end; answers what it said, on either channel. */
async function run(args: readonly string[], store: string): Promise<string> {
  const child = spawn(process.execPath, [SHOP, ...args], {
    env: { ...process.env, STORE: store },
  })
  let said = ''
  child.stdout.on('data', (chunk) => (said += String(chunk)))
  child.stderr.on('data', (chunk) => (said += String(chunk)))
  await once(child, 'close')
  return said
}

interface Worker extends Disposable {
  /** Ends it with a signal; answers its exit code and the signal it died of. */
  end(signal: NodeJS.Signals): Promise<unknown[]>
}

/** Starts a worker; resolves when it is ready. */
async function startWorker(store: string): Promise<Worker> {
  const child = spawn(process.execPath, [WORKER, store], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), ended])
  child.stdout.resume()
  return {
    async end(signal) {
      child.kill(signal)
      return ended
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}
