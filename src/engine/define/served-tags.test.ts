import { describe, expect, test } from 'vitest'

import { servedTags, serves, UNTAGGED } from './served-tags.ts'

describe('tags that a runtime serves', () => {
  test.each([
    [['gpu', 'eu'], { untagged: true, tags: ['gpu', 'eu'] }],
    [[], { untagged: true, tags: [] }],
    [{ only: ['gpu'] }, { untagged: false, tags: ['gpu'] }],
    ['any', { untagged: true, tags: 'any' }],
    ['none', { untagged: false, tags: [] }],
  ])('%j is read', (given, served) => {
    expect(servedTags(given, 'open: tags')).toEqual(served)
  })

  test.each<[string, unknown, string, readonly string[]]>([
    ['by default', undefined, 'yes', []],
    ['a list', ['gpu'], 'yes', ['gpu']],
    ['only', { only: ['gpu', 'eu'] }, 'no', ['gpu', 'eu']],
    ['any', 'any', 'yes', ['gpu', 'eu', 'x']],
    ['none', 'none', 'no', []],
  ])('what is served %s', (_, given, untagged, tags) => {
    const served = given === undefined ? UNTAGGED : servedTags(given, 'open: tags')

    expect(serves(served, '')).toBe(untagged === 'yes')
    expect(['gpu', 'eu', 'x'].filter((tag) => serves(served, tag))).toEqual(tags)
  })

  test.each([
    ['gpu', `open: tags must be a list of tags, { only: [...] }, 'any' or 'none', got "gpu"`],
    [7, `open: tags must be a list of tags, { only: [...] }, 'any' or 'none', got 7`],
    [null, `open: tags must be a list of tags, { only: [...] }, 'any' or 'none', got null`],
    [{ only: [] }, `open: tags: only must have at least one tag; to run no activities, use 'none'`],
    [{}, `open: tags: only must have at least one tag; to run no activities, use 'none'`],
    [{ onyl: ['gpu'] }, `open: tags: unknown option "onyl", did you mean "only"?`],
  ])('%j is refused', (given, message) => {
    expect(() => servedTags(given, 'open: tags')).toThrow(new TypeError(message))
  })

  test.each([[['']], [['a', 7]], [{ only: ['a\n'] }], [['x'.repeat(501)]]])(
    'a tag in %j is refused, with its place',
    (given) => {
      expect(() => servedTags(given, 'open: tags')).toThrow(
        /^open: tags(: only)?\[\d\] must be a string of 1 to 500 characters/,
      )
    },
  )
})
