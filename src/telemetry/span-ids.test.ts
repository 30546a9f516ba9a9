import { expect, test } from 'vitest'
import { idGenerator, withIds } from './span-ids.ts'

const broken = (): never => {
  throw new Error('broken')
}

test('ids are random hexadecimal digits of the right length, and differ', () => {
  const ids = idGenerator()

  const spans = Array.from({ length: 2_000 }, () => ids.generateSpanId())
  const traces = Array.from({ length: 2_000 }, () => ids.generateTraceId())

  expect(spans.every((id) => /^[0-9a-f]{16}$/.test(id))).toBe(true)
  expect(traces.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true)
  expect(new Set([...spans, ...traces]).size).toBe(4_000)
})

test('ids that are chosen are used while their span is started, and others come from elsewhere', () => {
  const ids = idGenerator({ generateTraceId: () => 'trace', generateSpanId: () => 'span' })
  const both = () => [ids.generateTraceId(), ids.generateSpanId()]

  expect(withIds(ids, { traceId: 'a', spanId: 'b' }, both)).toEqual(['a', 'b'])
  expect(withIds(ids, { spanId: 'b' }, both)).toEqual(['trace', 'b'])
  expect(() => withIds(ids, { spanId: 'b' }, broken)).toThrow('broken')
  expect(both()).toEqual(['trace', 'span'])
})
