import type { ErrorGroup } from '../index.ts'
import type { ApiErrorGroup, ErrorAnswer, ErrorsAnswer } from './api.ts'
import { Failure } from './failure.ts'
import { plain } from './instance.ts'
import { toItem } from './instances.ts'
import { FILTER, filterOf, REQUIRED, integer } from './parameters.ts'
import { read, type ReadRoute } from './route.ts'

/** How many instances of an error are shown: each is read by itself. */
const SHOWN = 50
/** Among how many of the latest instances errors are looked for. */
const AMONG = integer(1, 10_000, 1_000)

/** Reads of what went wrong. */
export const ERROR_READS: Readonly<Record<string, ReadRoute>> = {
  errors: read(
    { ...FILTER, limit: AMONG },
    async ({ client }, { limit, ...given }): Promise<ErrorsAnswer> => ({
      items: (await client.admin.errors(filterOf(given), { limit })).map(toErrorGroup),
    }),
    10_000,
  ),
  error: read(
    { ...FILTER, limit: AMONG, fingerprint: REQUIRED },
    async ({ client }, { limit, fingerprint, ...given }): Promise<ErrorAnswer> => {
      const groups = await client.admin.errors(filterOf(given), { limit })
      const group = groups.find((one) => one.fingerprint === fingerprint)
      if (group === undefined) {
        throw new Failure(
          'not_found',
          `none of the latest instances has the error "${fingerprint}"`,
        )
      }
      const infos = group.ids.slice(0, SHOWN).map((id) => client.get(id).info())
      const known = (await Promise.all(infos)).filter((info) => info !== undefined)
      return { group: toErrorGroup(group), ids: group.ids, instances: known.map(toItem) }
    },
    10_000,
  ),
}

/** Without its ids, which may be a thousand. */
function toErrorGroup(group: ErrorGroup): ApiErrorGroup {
  const { fingerprint, workflow, name, message, count, suspended, latestId } = group
  const { firstAt, lastAt } = group
  return plain({
    fingerprint,
    workflow,
    name,
    message,
    count,
    suspended,
    latestId,
    firstAt,
    lastAt,
  })
}
