import { expect, test } from 'vitest'
import { type OpenOptions, open, workflow } from '../../src/index.ts'

const job = workflow('job', async (n: number) => n + 1)

test.each<[unknown, RegExp]>([
  [{ after: '1ms' }, /^open: watchdog: after must .*1000 ms.*got "1ms"/],
  [{ after: Infinity }, /^open: watchdog: after must .*got Infinity/],
  [{ kill: 'yes' }, /^open: watchdog: kill must .*got "yes"/],
  [{ ends: true }, /^open: watchdog: .*"ends"/],
  ['on', /^open: watchdog must be 'off' or \{ after, kill \}, got "on"/],
])('a watchdog of %o is refused', async (watchdog, message) => {
  const options = { register: job, watchdog: watchdog as 'off' }
  await expect(open('memory:', options)).rejects.toThrow(message)
})

test.each<NonNullable<OpenOptions['watchdog']>>([
  'off',
  {},
  { after: '1s' },
  { after: 120_000, kill: true },
])('with a watchdog of %o workflows run as always', async (watchdog) => {
  await using holdfast = await open('memory:', { register: job, watchdog })

  expect(await holdfast.run(job, 1)).toBe(2)
})
