import type { StartItem } from '../../store/commits.ts'
import { ON_CLOSE, STATUS } from './numbers.ts'
import { joinTexts, listOf, packLists } from './lists.ts'

/** New instances as `insert_starts` takes them; empty when there are none. */
export function startsValue(items: readonly StartItem[]): string {
  return items.length === 0 ? '' : packLists('start', listsOf(items))
}

function listsOf(items: readonly StartItem[]): string[] {
  return [
    listOf(items.map(({ iid }) => iid)),
    textsOf(items, ({ id }) => id),
    listOf(items.map(({ workflow }) => workflow)),
    listOf(items.map(({ owned }) => owned)),
    listOf(items.map(({ wakeAt }) => wakeAt)),
    listOf(items.map(({ turn }) => turn.execution)),
    listOf(items.map(({ turn }) => turn.turn)),
    listOf(items.map(({ turn }) => turn.at)),
    listOf(items.map(({ turn }) => turn.first)),
    listOf(items.map(({ turn }) => turn.count)),
    textsOf(items, ({ turn }) => turn.events),
    listOf(items.map(({ end }) => STATUS[end?.status ?? 'running'])),
    textsOf(items, ({ end }) => end?.output ?? ''),
    ...parentLists(items),
    ...labelLists(items),
    ...messageLists(items),
    ...flowLists(items),
  ]
}

/** If no instance has a parent, the lists are empty, which the server treats as nulls. */
function parentLists(items: readonly StartItem[]): string[] {
  const given = items.some(({ parent }) => parent !== null) ? items : []
  return [
    listOf(given.map(({ parent }) => parent?.iid ?? null)),
    listOf(given.map(({ parent }) => parent?.execution ?? null)),
    listOf(given.map(({ parent }) => parent?.command ?? null)),
    listOf(given.map(({ parent }) => parent && ON_CLOSE[parent.onClose])),
    textsOf(given, ({ parent }) => parent?.id ?? ''),
  ]
}

/** The same for labels; the count distinguishes no labels from empty ones. */
function labelLists(items: readonly StartItem[]): string[] {
  const given = items.some(({ labels }) => labels !== '{}') ? items : []
  return [String(given.length), textsOf(given, ({ labels }) => labels)]
}

function messageLists(items: readonly StartItem[]): string[] {
  const messages = items.flatMap((item) =>
    item.messages.map((message) => ({ iid: item.iid, ...message })),
  )
  return [
    listOf(messages.map(({ iid }) => iid)),
    textsOf(messages, ({ name }) => name),
    textsOf(messages, ({ payload }) => payload),
  ]
}

/** Priorities, and keys for limits of workflows; most batches have neither, and leave them out. */
function flowLists(items: readonly StartItem[]): string[] {
  if (items.every(({ priority = 0, limitKey }) => priority === 0 && limitKey === undefined))
    return []
  return [
    listOf(items.map(({ priority = 0 }) => priority)),
    // Empty is none; a key may be empty as well.
    textsOf(items, ({ limitKey }) => (limitKey === undefined ? '' : `=${limitKey}`)),
  ]
}

function textsOf<T>(items: readonly T[], textOf: (item: T) => string): string {
  return joinTexts('start', items.map(textOf))
}
