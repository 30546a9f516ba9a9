import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'

import { tempFile } from '../support/sqlite.ts'

// Unhandled rejections end a process, so each of these programs is one.

// As it was built: a process takes most of a second to load the sources.
const ENTRY = pathToFileURL(join(import.meta.dirname, '../../dist/index.js')).href

/** Runs a program against the engine; `holdfast` registers the workflow `main`. */
function run(main: string, then: string): { code: number | null; out: string; err: string } {
  using file = tempFile()
  const path = join(file.folder, 'program.mjs')
  writeFileSync(
    path,
    `import { open, workflow } from '${ENTRY}'
    const main = workflow('main', ${main})
    const warnings = []
    const log = { debug() {}, info() {}, error() {}, warn: (data, message) => warnings.push(message) }
    const holdfast = await open('memory:', { register: main, log })
    ${then}
    await holdfast.close()
    `,
  )
  const { status, stdout, stderr } = spawnSync(process.execPath, [path], {
    encoding: 'utf8',
    timeout: 20_000,
  })
  return { code: status, out: stdout, err: stderr }
}

describe('unhandled rejections', () => {
  test('one of workflow code does not end the process, and is reported with the end', () => {
    const { code, out, err } = run(
      `async (_, ctx) => {
        const helper = async () => { await ctx.step('one', () => 1); throw new Error('stray') }
        void helper()
        await ctx.sleep(50)
        return 'fine'
      }`,
      `console.log(await holdfast.run(main), warnings)`,
    )

    expect({ code, out, err }).toEqual({
      code: 0,
      out: "fine [ 'unhandled rejection in workflow code' ]\n",
      err: '',
    })
  })

  test('one that workflow code handles later is not reported', () => {
    const { code, out } = run(
      `async (_, ctx) => {
        const helper = async () => { await ctx.step('one', () => 1); throw new Error('late') }
        const late = helper()
        await ctx.sleep(50)
        return late.catch((error) => error.message)
      }`,
      `console.log(await holdfast.run(main), warnings)`,
    )

    expect({ code, out }).toEqual({ code: 0, out: 'late []\n' })
  })

  test('one of other code ends the process as usual', () => {
    const { code, err } = run(
      `async (_, ctx) => ctx.sleep(1)`,
      `await holdfast.run(main)
       void Promise.reject(new Error('mine'))
       await new Promise((resolve) => setTimeout(resolve, 5_000))`,
    )

    expect(code).toBe(1)
    expect(err).toContain('Error: mine')
  })

  test('one of an activity ends the process as usual', () => {
    const { code, err } = run(
      `async (_, ctx) => ctx.step('one', () => { void Promise.reject(new Error('mine')) })`,
      `await holdfast.run(main)
       await new Promise((resolve) => setTimeout(resolve, 5_000))`,
    )

    expect(code).toBe(1)
    expect(err).toContain('Error: mine')
  })

  test('one of anything else is left to other listeners, if there are any', () => {
    const { code, out } = run(
      `async (_, ctx) => ctx.sleep(1)`,
      `process.on('unhandledRejection', (error) => console.log('seen', error.message))
       void Promise.reject(new Error('mine'))
       await holdfast.run(main)`,
    )

    expect({ code, out }).toEqual({ code: 0, out: 'seen mine\n' })
  })

  test('after the last runtime is closed nothing is watched', () => {
    const { code, out } = run(
      `async (_, ctx) => ctx.sleep(1)`,
      `await holdfast.close()
       console.log(process.listenerCount('unhandledRejection'), process.listenerCount('rejectionHandled'))`,
    )

    expect({ code, out }).toEqual({ code: 0, out: '0 0\n' })
  })

  test('a process in which a runtime could not be opened ends by itself', () => {
    const { code, out } = run(
      `async () => 1`,
      `await open('file:/no/such/folder/x.db', { register: main }).catch((error) => console.log(error.name))`,
    )

    expect({ code, out }).toEqual({ code: 0, out: 'StoreError\n' })
  })
})
