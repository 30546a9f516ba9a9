import { describe, expect, test } from 'vitest'
import { linesOutside, packageFolder, sourceLine } from './source-line.ts'

const OWN = packageFolder(new Error('here').stack?.replace('.test.ts', '.ts'))

/** A stack of a workflow at this place, called by the engine. */
const stackOf = (place: string): string =>
  [
    'Error: issued',
    `    at give (file://${OWN}engine/replay/execution.ts:1:2)`,
    `    at run (file://${OWN}engine/context/make-context.ts:3:4)`,
    `    at ${place}:5:6`,
    '    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
  ].join('\n')

test.each([
  '/app/engine/replay/pay.ts',
  '/app/src/engine/runtime/pay.ts',
  'file:///app/testing/kit/pay.ts',
  String.raw`C:\app\engine\context\pay.ts`,
])('the line of %s is found, whatever its folders are called', (place) => {
  expect(OWN).toMatch(/\/src\/$/)
  expect(sourceLine(stackOf(place))).toBe(`at ${place}:5:6`)
})

test('code of the user comes before code of packages, which come before nothing', () => {
  const inPackage = stackOf('/app/node_modules/helpers/index.js')

  expect(sourceLine(inPackage)).toBe('at /app/node_modules/helpers/index.js:5:6')
  expect(sourceLine(`${inPackage}\n    at pay (/app/pay.ts:7:8)`)).toBe('at pay (/app/pay.ts:7:8)')
  expect(sourceLine(stackOf(`${OWN}engine/client/start.ts`))).toBe('')
})

describe('the folder of the package', () => {
  test.each([
    ['at packageFolder (file:///a b/dist/base/source-line.js:1:2)', '/a b/dist/'],
    ['at linesOutside (/app/(x)/src/base/source-line.ts:1:2)', '/app/(x)/src/'],
    ['at file:///dist/base/source-line.js:1:2', '/dist/'],
    ['at isOwnLine (file:///a/dist/chunks/holdfast-own-A2BWGZOS.js:1:2)', '/a/dist/'],
    [String.raw`at Object.linesOutside (C:\app\dist\base\source-line.js:1:2)`, 'C:\\app\\dist\\'],
  ])('is read from a stack: %s', (line, folder) => {
    expect(packageFolder(`Error: here\n    ${line}\n    at other (/b.js:1:1)`)).toBe(folder)
  })

  test.each([
    '    at a (/app/bundle.cjs:1:2)',
    '    at a (/app/chunks/main-A2BWGZOS.js:1:2)',
    '    at a (/app/chunks/holdfast-A2BWGZOS.js:1:2)',
    '',
    undefined,
    [],
    '    at base/source-line.js:1:2',
  ])(
    'is unknown where the package is in a bundle, or stacks are written otherwise: %j',
    (stack) => {
      expect(packageFolder(stack)).toBe('')
    },
  )

  test('without it, nothing of the stack of a bundle is dropped', () => {
    const stack = 'Error\n    at give (/app/engine/replay/bundle.cjs:1:2)'

    expect(linesOutside(stack)).toHaveLength(1)
  })
})
