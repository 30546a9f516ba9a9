// How answers are written: headers that keep a browser from doing anything but showing the pages.

import type { ApiError } from './api.ts'
import type { Failure } from './failure.ts'

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const ALWAYS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** An answer with a body of any type. */
export function answer(
  status: number,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  headers: Readonly<Record<string, string>>,
): Response {
  return new Response(body, { status, headers: { ...ALWAYS, ...headers } })
}

/** An answer in JSON, which no cache may keep. */
export function jsonAnswer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return answer(status, JSON.stringify(body), {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...headers,
  })
}

/** The answer to a request that failed. */
export function failureAnswer({ code, message, status }: Failure): Response {
  const body: ApiError = { error: { code, message } }
  return jsonAnswer(status, body, {
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(status === 503 && { 'retry-after': '5' }),
  })
}
