// Prisma without models, which is all that its raw statements need. `prisma generate` would write the
// same configuration, but fetches a program from another host first.

import { PrismaPg } from '@prisma/adapter-pg'
import * as runtime from '@prisma/client/runtime/client'

interface RawClient {
  $queryRawUnsafe(text: string, ...values: unknown[]): Promise<unknown>
  $executeRawUnsafe(text: string, ...values: unknown[]): Promise<number>
}

/** The part of a Prisma client that has to do with transactions. */
export interface Prisma extends RawClient {
  $transaction<T>(work: (tx: RawClient) => Promise<T>): Promise<T>
  $disconnect(): Promise<void>
}

/** The real client of Prisma, over `pg`. */
export function openPrisma(connectionString: string): Prisma {
  const PrismaClient = runtime.getPrismaClient({
    previewFeatures: [],
    clientVersion: '7.10.0',
    engineVersion: 'none',
    activeProvider: 'postgresql',
    inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      getRuntime: () => load('query_compiler_fast_bg.postgresql.mjs'),
      async getQueryCompilerWasmModule() {
        const { wasm } = await load<{ wasm: string }>(
          'query_compiler_fast_bg.postgresql.wasm-base64.mjs',
        )
        return new Wasm.Module(Buffer.from(wasm, 'base64'))
      },
      importName: './query_compiler_fast_bg.js',
    },
  } as unknown as runtime.GetPrismaClientConfig)
  const adapter = new PrismaPg({ connectionString })
  return new PrismaClient({ adapter }) as unknown as Prisma
}

// Without declarations.
const Wasm = (globalThis as unknown as { WebAssembly: { Module: new (code: Buffer) => unknown } })
  .WebAssembly

function load<T>(file: string): Promise<T> {
  return import(`@prisma/client/runtime/${file}`) as Promise<T>
}
