import { pathToFileURL } from 'node:url'

/**
 * The address of the file that calls: `moduleUrl(import.meta.url)`.
 *
 * A bundle in CommonJS has no `import.meta.url`, but it knows its file by another name.
 */
export function moduleUrl(metaUrl: string | undefined): string {
  if (metaUrl !== undefined) return metaUrl
  return pathToFileURL(typeof __filename === 'string' ? __filename : process.cwd() + '/').href
}
