import { openTest, simulate, stubStep } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { exportFile, written } from './workflow.ts'

test('two exports of a customer run at a time, and others do not wait for them', async () => {
  await using t = await openTest({ register: exportFile, stubs: [stubStep('begin', () => {})] })
  for (const file of ['acme-1', 'acme-2', 'acme-3']) {
    await t.start(exportFile, { customer: 'acme', file }, { id: file })
  }
  await t.start(exportFile, { customer: 'tiny', file: 'tiny-1' }, { id: 'tiny-1' })
  await t.settle()

  expect(t.calls).toHaveLength(3)
  expect((await t.get('acme-3').info())?.status).toBe('scheduled')

  await t.get('acme-1').send(written, 'acme-1')
  await t.settle()
  expect((await t.get('acme-3').info())?.status).toBe('running')
})

test('no more than two run at once, whatever happens to the processes', async () => {
  const files = ['a', 'b', 'c', 'd', 'e']
  const report = await simulate({
    register: exportFile,
    stubs: [stubStep('begin', () => {})],
    runs: 15,
    scenario: async (client) => {
      for (const file of files) {
        await client.start(exportFile, { customer: 'acme', file }, { id: file })
      }
      for (const file of files) {
        const running = await client.list({ workflow: exportFile, status: 'running' })
        expect(running.items.length).toBeLessThanOrEqual(2)
        await client.get(file).send(written, file, { dedupeKey: file })
        expect(await client.get(file).result()).toBe(file)
      }
    },
  })

  expect(report.faults).toBeGreaterThan(0)
})
