import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

import type { Access, Meta } from '../../../src/dashboard/api.ts'

/** What the server said about itself; `undefined` until it has. */
export const MetaContext = createContext<Meta | undefined>(undefined)

/** What the server said about itself. */
export function useMeta(): Meta | undefined {
  return useContext(MetaContext)
}

/** Whether this reader may see nothing without the token. */
export function isLocked({ reads, authorized }: Access): boolean {
  return reads === 'token' && !authorized
}

/** What the server said, if it said all: to a reader without the token it may say only what that can do. */
export function wholeMeta(said: Access | Meta | undefined): Meta | undefined {
  return said !== undefined && 'version' in said ? said : undefined
}

/** Whether this reader may change things. */
export function useCanChange(): boolean {
  return useContext(MetaContext)?.authorized ?? false
}
