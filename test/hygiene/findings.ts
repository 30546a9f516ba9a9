import { doctor, type DoctorOptions } from '../../src/postgres/doctor/doctor.ts'
import type { Finding } from '../../src/postgres/doctor/finding.ts'

/** What `doctor` finds in a schema, without trying whether notifications arrive. */
export async function findings(
  { url, schema }: { readonly url: string; readonly schema: string },
  options: DoctorOptions = {},
): Promise<readonly Finding[]> {
  return doctor({ url, schema, notify: 'off', ...options })
}

/** The findings about one thing, or those of them whose detail holds these words. */
export function about(found: readonly Finding[], what: string, words = ''): readonly Finding[] {
  return found.filter((finding) => finding.what === what && finding.detail.includes(words))
}

/** The only finding about one thing whose detail holds these words. */
export function only(found: readonly Finding[], what: string, words = ''): Finding {
  const [first, ...more] = about(found, what, words)
  if (first !== undefined && more.length === 0) return first
  const lines = found.map((finding) => `${finding.level} ${finding.what}: ${finding.detail}`)
  throw new Error(`not one finding about ${what} with "${words}", but\n${lines.join('\n')}`)
}
