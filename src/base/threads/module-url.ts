import { pathToFileURL } from 'node:url'

/**
 * The address of the calling file: `moduleUrl(import.meta.url)`.
 *
 * A CommonJS bundle has no `import.meta.url`, but it has `__filename`.
 */
export function moduleUrl(metaUrl: string | undefined): string {
  if (metaUrl !== undefined) return metaUrl
  return pathToFileURL(typeof __filename === 'string' ? __filename : process.cwd() + '/').href
}
