import { expect, test } from 'vitest'
import { type OpenOptions, open, workflow } from '../../src/index.ts'

const job = workflow('job', async (n: number) => n + 1)

test.each<[OpenOptions['watchdog'], RegExp]>([
  ['1ms', /^open: watchdog must .*1000 ms.*got "1ms"/],
  [Infinity, /^open: watchdog must .*got Infinity/],
  ['on' as 'off', /^open: watchdog must .*got "on"/],
])('a watchdog of %s is refused', async (watchdog, message) => {
  await expect(open('memory:', { register: job, watchdog: watchdog! })).rejects.toThrow(message)
})

test.each<NonNullable<OpenOptions['watchdog']>>(['off', '1s', 120_000])(
  'with a watchdog of %s workflows run as always',
  async (watchdog) => {
    await using holdfast = await open('memory:', { register: job, watchdog })

    expect(await holdfast.run(job, 1)).toBe(2)
  },
)
