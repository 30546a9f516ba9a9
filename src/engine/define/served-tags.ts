import { describe } from '../../base/describe.ts'
import { list, resolveOptions } from '../../base/options.ts'
import type { ServedTags } from '../../store/tasks.ts'
import { checkId } from './names.ts'

/** The default of `tags`: activities without a tag. */
export const UNTAGGED: ServedTags = { untagged: true, tags: [] }

/** Validates the option `tags` of `open`. */
export function servedTags(value: unknown, what: string): ServedTags {
  if (value === 'any') return { untagged: true, tags: 'any' }
  if (value === 'none') return { untagged: false, tags: [] }
  if (Array.isArray(value)) return { untagged: true, tags: tagList.check(value, what) }
  if (typeof value === 'object' && value !== null) {
    const { only } = resolveOptions(what, value, { only: tagList })
    if (only.length > 0) return { untagged: false, tags: only }
    throw new TypeError(
      `${what}: only must have at least one tag; to run no activities, use 'none'`,
    )
  }
  throw new TypeError(
    `${what} must be a list of tags, { only: [...] }, 'any' or 'none', got ${describe(value)}`,
  )
}

const tagList = list(checkId)

/** Whether activities with this tag run here; an empty tag means none. */
export function serves({ untagged, tags }: ServedTags, tag: string): boolean {
  if (tag === '') return untagged
  return tags === 'any' || tags.includes(tag)
}
