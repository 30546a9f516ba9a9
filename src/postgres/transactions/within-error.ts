/** The error that the server sent, out of what an ORM wrapped around it; else the same error. */
export function driverErrorOf(error: unknown): unknown {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (isSqlState((inner as { code?: unknown }).code)) return inner
    const code = prismaCodeOf(inner)
    if (isSqlState(code)) return Object.assign(new Error(inner.message, { cause: error }), { code })
  }
  return error
}

// Codes of Prisma look the same: P2010 means any error of the server.
function isSqlState(code: unknown): code is string {
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^P[1-9]/.test(code)
}

function prismaCodeOf(error: Error): unknown {
  const { meta } = error as {
    meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } }
  }
  return meta?.driverAdapterError?.cause?.originalCode
}
