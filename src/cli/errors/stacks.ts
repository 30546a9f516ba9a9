import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe } from '../../base/describe.ts'

/** The folder of the package, compiled or not. */
const OWN = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

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
    if (found === undefined || /[\\/]node_modules[\\/]/.test(found)) continue
    const place = pathOf(found)
    if (!place.startsWith(OWN)) return place
  }
  return undefined
}

function pathOf(place: string): string {
  const [, url, position] = /^(file:.*?)(?:\?.*)?(:\d+:\d+)$/.exec(place) ?? []
  return url === undefined ? place : `${fileURLToPath(url)}${position}`
}
