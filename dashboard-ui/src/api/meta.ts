import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

import type { Meta } from '../../../src/dashboard/api.ts'

/** What the server said about itself; `undefined` until it has. */
export const MetaContext = createContext<Meta | undefined>(undefined)

/** What the server said about itself. */
export function useMeta(): Meta | undefined {
  return useContext(MetaContext)
}

/** Whether this reader may see nothing without the token. */
export function isLocked({ reads, authorized }: Meta): boolean {
  return reads === 'token' && !authorized
}

/** Whether this reader may change things. */
export function useCanChange(): boolean {
  return useContext(MetaContext)?.authorized ?? false
}
