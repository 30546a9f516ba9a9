import { type FSWatcher, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'

const WATCHED = /\.([cm]?[jt]sx?|json)$/
/** What is generated or installed, and folders that are hidden. */
const IGNORED = /^(node_modules|dist|build|coverage|\..*)$/
const MAX_FOLDERS = 1_000
const QUIET_MS = 100

/**
 * Calls `onChange` when a source file in a folder changes, once for changes that come together. Call the
 * result to stop.
 *
 * Not by `recursive` of `fs.watch`, which watches everything in `node_modules` as well.
 */
export function watchFiles(folder: string, onChange: (path: string) => void): () => void {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined

  const changed = (path: string): void => {
    clearTimeout(timer)
    timer = setTimeout(() => onChange(path), QUIET_MS)
  }
  const add = (path: string): void => {
    if (watchers.has(path) || watchers.size >= MAX_FOLDERS) return
    try {
      const watcher = watch(path, (_, name) => {
        if (name === null) return
        if (WATCHED.test(name)) changed(join(path, name))
        else if (!IGNORED.test(name)) addBelow(path)
      })
      // A folder that is removed.
      watcher.on('error', () => {
        watcher.close()
        watchers.delete(path)
      })
      watchers.set(path, watcher)
      addBelow(path)
    } catch {
      // It is gone already, or is not a folder that can be watched.
    }
  }
  const addBelow = (path: string): void => {
    try {
      for (const entry of readdirSync(path, { withFileTypes: true })) {
        if (entry.isDirectory() && !IGNORED.test(entry.name)) add(join(path, entry.name))
      }
    } catch {
      // It was removed in the meantime.
    }
  }
  add(folder)
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers.values()) watcher.close()
  }
}
