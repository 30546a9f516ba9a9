import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  type Channel,
  channel,
  channelOf,
  definitionOf,
  message,
  request,
  type RequestChannel,
  type StateKey,
  stateKey,
} from './channels.ts'
import { activity, type InputOf, type OutputOf } from './definitions.ts'
import type { Schema } from '../../base/schema.ts'

const schema: Schema<{ by: string; ok?: boolean }, { by: string; ok: boolean }> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
}

describe('definitions of channels, requests and state keys', () => {
  test('a channel is data: a name, a schema and a capacity', () => {
    expect(channel('approvals')).toEqual({
      kind: 'channel',
      name: 'approvals',
      schema: undefined,
      capacity: 10_000,
    })
    expect(channel('approvals', { schema, capacity: 3 })).toMatchObject({ schema, capacity: 3 })
  })

  test('a request and a key of state are names', () => {
    expect(request('say')).toEqual({ kind: 'request', name: 'say' })
    expect(stateKey('total')).toEqual({ kind: 'state', name: 'total' })
  })

  test('they are typed by what is sent, and by what is received', () => {
    expectTypeOf(channel<number>('n')).toEqualTypeOf<Channel<number>>()
    const parsed = channel('parsed', { schema })
    expectTypeOf<InputOf<typeof parsed>>().toEqualTypeOf<{ by: string; ok?: boolean }>()
    expectTypeOf<OutputOf<typeof parsed>>().toEqualTypeOf<{ by: string; ok: boolean }>()
    expectTypeOf(request<string, number>('r')).toEqualTypeOf<RequestChannel<string, number>>()
    expectTypeOf(stateKey<Date>('k')).toEqualTypeOf<StateKey<Date>>()
    expectTypeOf<StateKey<'a'>>().not.toExtend<StateKey<string>>()
  })

  test.each([[''], ['x'.repeat(201)], ['a\nb'], ['\ud800'], [undefined], [7]])(
    'the name %j is refused',
    (name) => {
      expect(() => channel(name as string)).toThrow(/^channel: name must be a string/)
      expect(() => request(name as string)).toThrow(/^request: name must be a string/)
      expect(() => stateKey(name as string)).toThrow(/^stateKey: name must be a string/)
    },
  )

  test.each<[object, string]>([
    [{ capacity: 0 }, 'channel "c": capacity must be a whole number, 1 or more, got 0'],
    [{ capacity: 1.5 }, 'channel "c": capacity must be a whole number'],
    [{ capacity: Infinity }, 'channel "c": capacity must be a whole number'],
    [{ schema: {} }, 'channel "c": schema must be a Standard Schema'],
    [{ capactiy: 1 }, 'did you mean "capacity"?'],
  ])('a channel with %j is refused', (options, text) => {
    expect(() => channel('c', options)).toThrow(text)
  })
})

describe('a letter', () => {
  const approvals = channel('approvals', { schema })

  test('shows its channel and its data, and nothing else', () => {
    const letter = message(approvals, { by: 'kim' })

    expect(letter).toEqual({ channel: 'approvals', data: { by: 'kim' } })
    expect(JSON.parse(JSON.stringify(letter))).toEqual(letter)
  })

  test('knows the channel it was made for', () => {
    expect(channelOf('start: send', message(approvals, { by: 'kim' }))).toBe(approvals)
  })

  test.each([[{ channel: 'approvals', data: 1 }], ['x'], [null], [undefined]])(
    '%j is none: it was not made by message()',
    (value) => {
      expect(() => channelOf('start: send', value)).toThrow(
        'start: send must be made by message(channel, data), got ',
      )
    },
  )

  test.each<[unknown, string]>([
    [request('say'), 'message: needs a channel made by channel(), got request "say"'],
    ['approvals', 'message: needs a channel made by channel(), got "approvals"'],
    [undefined, 'message: needs a channel made by channel(), got undefined'],
  ])('is made for a channel only: %#', (value, text) => {
    expect(() => message(value as Channel<number>, 1)).toThrow(text)
  })
})

describe('a definition that is passed to a function', () => {
  test('is accepted where its kind is needed', () => {
    const [letters, say, total] = [channel('letters'), request('say'), stateKey('total')]

    expect(definitionOf('send', 'channel', letters)).toBe(letters)
    expect(definitionOf('request', 'request', say)).toBe(say)
    expect(definitionOf('ctx.state.get', 'state', total)).toBe(total)
  })

  test.each<['channel' | 'request' | 'state', unknown, string]>([
    ['request', channel('c'), 'x: needs a request made by request(), got channel "c"'],
    ['state', activity('a', () => 1), 'x: needs a key made by stateKey(), got activity "a"'],
    ['state', 'total', 'x: needs a key made by stateKey(), got "total"'],
    ['channel', { kind: 'other' }, 'x: needs a channel made by channel(), got an object'],
  ])('is refused where %s is asked for and it is another', (kind, value, text) => {
    expect(() => definitionOf('x', kind, value)).toThrow(text)
  })
})
