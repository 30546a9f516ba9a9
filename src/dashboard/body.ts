import { describe } from '../base/describe.ts'
import { isPlainObject } from '../base/plain-object.ts'
import { Failure } from './failure.ts'

/** The largest body of a request, in bytes: a message to an instance may have a megabyte. */
export const MAX_BODY_BYTES = 2 * 1024 ** 2

/** Reads the JSON object in the body of a request, of bounded size. */
export async function readBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new Failure('bad_request', `the body must be application/json, got ${describe(type)}`)
  }
  const text = new TextDecoder().decode(await bytesOf(request))
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw new Failure('bad_request', 'the body is not JSON', { cause })
  }
  if (isPlainObject(body)) return body
  throw new Failure('bad_request', `the body must be an object, got ${describe(body)}`)
}

async function bytesOf(request: Request): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const chunks: Uint8Array[] = []
  let bytes = 0
  // The header may be missing or wrong. Leaving the loop cancels the rest.
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > MAX_BODY_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(): Failure {
  return new Failure('too_large', `the body has more than ${MAX_BODY_BYTES} bytes`)
}
