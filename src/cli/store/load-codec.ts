import type { ConnectOptions } from '../../index.ts'
import type { Surroundings } from '../args/command.ts'
import { CliError } from '../errors/cli-error.ts'
import { importModule } from '../input/import-module.ts'
import { readConfig } from './config.ts'

/**
 * The codec of a project, for `open` and `connect`: what the module exports as `codec`, or by default.
 * Without it, values that processes encrypt or encode by themselves cannot be shown.
 */
export async function loadCodec({
  codec,
  terminal: { io },
}: Pick<Surroundings, 'codec' | 'terminal'>): Promise<Pick<ConnectOptions, 'codec'>> {
  const fromEnv = io.env['HOLDFAST_CODEC']
  const path = codec ?? (fromEnv === '' ? undefined : fromEnv) ?? readConfig(io.cwd).codec
  if (path === undefined) return {}
  const { codec: named, default: byDefault } = await importModule(path, io)
  const found = named ?? byDefault
  if (found !== undefined) return { codec: found as NonNullable<ConnectOptions['codec']> }
  throw new CliError(`${path} exports no codec: write \`export const codec = …\``)
}
