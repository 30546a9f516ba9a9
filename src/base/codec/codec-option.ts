import { describe } from '../describe.ts'
import { having } from '../options.ts'
import type { Codec } from './codec.ts'
import { checkTransform, type Transform, TransformChain } from './transform.ts'

/** How to store values: a codec, transforms of what it writes, or both in one list. */
export type CodecOption = Codec | Transform | readonly (Codec | Transform)[]

/** The option `codec`, taken apart. */
export interface ResolvedCodec {
  /** Turns values into text or bytes; without it, Holdfast's own codec does. */
  readonly codec: Codec | undefined
  /** Transforms what is stored; `undefined` without transforms. */
  readonly chain: TransformChain | undefined
}

/** Without the option. */
export const NO_CODEC: ResolvedCodec = { codec: undefined, chain: undefined }

const checkCodec = having<Codec>('a codec', ['encode', 'decode'])

/** Checks the option `codec`. `what` begins the error message. */
export function resolveCodec(value: unknown, what: string): ResolvedCodec {
  const given: readonly unknown[] = Array.isArray(value) ? Array.from(value) : [value]
  let codec: Codec | undefined
  const transforms: Transform[] = []
  for (const [i, one] of given.entries()) {
    const item = Array.isArray(value) ? `${what}[${i}]` : what
    const checked = checkCodec(one, item)
    if (isTransform(checked)) {
      if (transforms.some(({ name }) => name === checked.name)) {
        throw new TypeError(`${item}: the transform ${describe(checked.name)} is there already`)
      }
      transforms.push(checkTransform(checked, item))
    } else if (i > 0) {
      throw new TypeError(
        `${item} must be a transform, such as compression() or encryption(): a codec that turns values into text or bytes can only come first`,
      )
    } else codec = checked
  }
  return { codec, chain: transforms.length === 0 ? undefined : new TransformChain(transforms) }
}

function isTransform(value: Codec | Transform): value is Transform {
  return (value as Partial<Transform>).kind === 'transform'
}
