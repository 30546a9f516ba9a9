import { describe, expect, test } from 'vitest'
import { command } from './command.ts'
import { parse } from './parse.ts'

const NOTHING = async (): Promise<void> => {}
const list = command({
  name: 'things list',
  summary: 'list',
  args: [],
  options: {
    label: { type: 'string', multiple: true, help: '' },
    limit: { type: 'string', short: 'n', help: '' },
    all: { type: 'boolean', help: '' },
  },
  examples: [],
  run: NOTHING,
})
const show = command({
  name: 'things show',
  summary: 'show',
  args: [
    { name: 'id', help: '' },
    { name: 'more', help: '', optional: true, many: true },
  ],
  // Another type than that of the same option elsewhere.
  options: { limit: { type: 'boolean', help: '' } },
  examples: [],
  run: NOTHING,
})
const COMMANDS = [list, show]

test('options may stand before, between and after arguments, and be repeated', () => {
  const parsed = parse(
    ['--store', 'file:a', 'things', 'list', '--label', 'a=1', '-n5', '--label=b=2', '--all'],
    COMMANDS,
  )

  expect(parsed.command).toBe(list)
  expect(parsed.values).toMatchObject({
    store: 'file:a',
    label: ['a=1', 'b=2'],
    limit: '5',
    all: true,
  })
})

test('what is not given is false, an empty list or missing', () => {
  const { values } = parse(['things', 'list'], COMMANDS)

  expect(values).toEqual({
    label: [],
    all: false,
    verbose: false,
    help: false,
    version: false,
    'no-color': false,
  })
})

test('options of one command do not change how another reads its arguments', () => {
  const { args, values } = parse(['things', 'show', '--limit', 'a', '-', '--', '--b'], COMMANDS)

  expect(args).toEqual(['a', '-', '--b'])
  expect(values['limit']).toBe(true)
})

test('help is found without the arguments that the command needs', () => {
  expect(parse(['things', 'show', '--help'], COMMANDS)).toMatchObject({ command: show })
  expect(parse(['things', '-h'], COMMANDS)).toMatchObject({ command: undefined, words: ['things'] })
})

describe('mistakes', () => {
  test.each([
    [['thing'], 'unknown command "thing", did you mean "things"?'],
    [['things', 'lst'], 'things: unknown command "lst", did you mean "list"?'],
    [['things'], 'things: which command? list, show'],
    [
      ['things', 'list', '--lable', 'x'],
      'things list: unknown option "--lable", did you mean "--label"?',
    ],
    [
      ['things', 'list', '-x'],
      'unknown option -x; write -- before arguments that begin with a dash',
    ],
    [['things', 'list', '--label'], '--label needs a value'],
    [
      ['things', 'list', '--label', '--all'],
      '--label needs a value; if it begins with a dash, write --label=--all',
    ],
    [['things', 'list', '--all=1'], '--all takes no value'],
    [['things', 'list', 'x'], 'things list: unexpected argument "x"'],
    [['things', 'show'], 'things show: <id> is missing'],
  ])('%j', (argv, message) => {
    expect(() => parse(argv, COMMANDS)).toThrow(message)
  })
})
