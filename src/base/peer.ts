import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * A `require` that finds a package which users install beside this one; `undefined` when there is
 * none.
 *
 * It is looked for from the calling file on, and then from where the program is and runs: a bundler
 * may have put the calling file anywhere, or name one that was there only when it was bundled.
 */
export function requireWith(name: string, callerUrl: string): NodeJS.Require | undefined {
  for (const from of [callerUrl, process.argv[1], resolve('index.js')]) {
    if (from === undefined || from === '') continue
    const require = requireFrom(from)
    try {
      require?.resolve(name)
      if (require !== undefined) return require
    } catch {
      // Not from there.
    }
  }
  return undefined
}

function requireFrom(place: string): NodeJS.Require | undefined {
  try {
    return createRequire(place.startsWith('file:') ? place : pathToFileURL(resolve(place)))
  } catch {
    return undefined
  }
}
