import type { Access, ApiError, ErrorCode } from '../../../src/dashboard/api.ts'
import { token } from './token.ts'

/** A request that was refused or did not arrive. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly code: ErrorCode | 'unreachable'

  constructor(code: ErrorCode | 'unreachable', message: string) {
    super(message)
    this.code = code
  }
}

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** An address below `api/`, with its query: `instances?status=failed&limit=50`. */
export function address(path: string, query: Query = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === '') continue
    for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one))
  }
  const text = params.toString()
  return text === '' ? path : `${path}?${text}`
}

/** Reads an address below `api/`. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, { method: 'GET', ...(signal && { signal }) })
  return (await response.json()) as T
}

/** Saves what an address below `api/` answers as a file. A link could not send the token. */
export async function download(path: string, name: string): Promise<void> {
  const response = await request(path, { method: 'GET' })
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

/** Changes something. */
export async function post<T = unknown>(path: string, body: unknown): Promise<T> {
  const response = await request(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as T
}

/** Whether the server accepts this token. */
export async function isRightToken(given: string): Promise<boolean> {
  const response = await request('meta', { method: 'GET' }, given)
  return ((await response.json()) as Access).authorized
}

/** The header that carries the token. One that no header can have is wrong anyway. */
export function authorization(given = token()): Record<string, string> {
  return given !== undefined && /^[\x21-\x7e]+$/.test(given)
    ? { authorization: `Bearer ${given}` }
    : {}
}

async function request(path: string, init: RequestInit, given = token()): Promise<Response> {
  let response: Response
  try {
    response = await fetch(new URL(`api/${path}`, document.baseURI), {
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...authorization(given) },
    })
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new RequestError('unreachable', 'the server of this dashboard does not answer')
  }
  if (response.ok) return response
  throw await refusal(response)
}

async function refusal(response: Response): Promise<RequestError> {
  try {
    const { error } = (await response.json()) as ApiError
    return new RequestError(error.code, error.message)
  } catch {
    return new RequestError('internal', `the server answered ${response.status}`)
  }
}
