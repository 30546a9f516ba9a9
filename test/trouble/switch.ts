import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** An address that leads to one server now and to another one later, or nowhere. */
export interface Switch extends AsyncDisposable {
  readonly port: number
  /** Cuts every connection; new ones lead to this port of the machine, or are refused. */
  lead(to: number | undefined): void
}

/** Makes an address that leads nowhere. */
export async function makeSwitch(): Promise<Switch> {
  const sockets = new Set<Socket>()
  let target: number | undefined
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }
  const server = createServer((near) => {
    keep(near)
    if (target === undefined) return void near.resetAndDestroy()
    const far = keep(connect(target, '127.0.0.1'))
    near.pipe(far)
    far.pipe(near)
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    lead(to) {
      target = to
      cut()
    },
    async [Symbol.asyncDispose]() {
      target = undefined
      const closed = new Promise((resolve) => server.close(resolve))
      cut()
      await closed
    },
  }
}
