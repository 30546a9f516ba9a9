import type { ComponentChildren } from 'preact'

import { useLive } from '../api/live.ts'
import { Failure, Loading, Stale } from './notice.tsx'

/** Shows the answer of an address, and until then, or instead, what there is to say. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- callers name what the address answers
export function Live<T>(props: {
  path: string
  /** What it is, at the beginning of a sentence: `Runtimes`. */
  what: string
  children: (data: T, busy: boolean) => ComponentChildren
}) {
  const { data, error, loading, staleSince } = useLive<T>(props.path)
  if (error !== undefined && data === undefined) return <Failure error={error} what={props.what} />
  if (data === undefined) return <Loading />
  return (
    <>
      {error !== undefined && <Stale error={error} since={staleSince} />}
      {props.children(data, loading)}
    </>
  )
}
