import { fileURLToPath } from 'node:url'
import { describe } from '../../base/describe.ts'
import { isOwnLine } from '../../base/source-line.ts'

/** The stack of an error and of what caused it. */
export function stackOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return describe(thrown)
  const stacks: string[] = []
  const seen = new Set<unknown>()
  for (let error: unknown = thrown; error instanceof Error; error = error.cause) {
    if (seen.has(error)) break
    seen.add(error)
    stacks.push(error.stack ?? error.message)
  }
  return stacks.join('\ncaused by: ')
}

/** Where code of the user threw an error, as `path:line:column`. */
export function placeOf(error: unknown): string | undefined {
  for (const line of stackOf(error).split('\n')) {
    const found = /^\s+at (?:.*\()?((?:file:\/\/|\/|[a-z]:\\).*:\d+:\d+)\)?$/i.exec(line)?.[1]
    if (found === undefined || /[\\/]node_modules[\\/]/.test(found) || isOwnLine(line)) continue
    return pathOf(found)
  }
  return undefined
}

function pathOf(place: string): string {
  const [, url, position] = /^(file:.*?)(?:\?.*)?(:\d+:\d+)$/.exec(place) ?? []
  return url === undefined ? place : `${fileURLToPath(url)}${position}`
}
