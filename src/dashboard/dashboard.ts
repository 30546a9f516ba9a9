// The dashboard: one handler for the pages and for their data.

import { childLog, type Logger } from '../base/log.ts'
import { VERSION } from '../base/version.ts'
import type { Client } from '../index.ts'
import type { ClientAccess } from '../store/client-access.ts'
import type { Access } from './api.ts'
import { answer, failureAnswer, jsonAnswer } from './answer.ts'
import { readBody } from './body.ts'
import { BulkJobs } from './bulk-jobs.ts'
import { EventStreams } from './event-streams.ts'
import { Failure, failureOf } from './failure.ts'
import { checkSender, hasToken, isLoopback } from './guard.ts'
import { LiveAnswers } from './live-answers.ts'
import { type NodeServer, serve } from './node-server.ts'
import { DEFAULT_PORT, listenOptions, type ListenOptions, type ResolvedOptions } from './options.ts'
import { Pages } from './pages.ts'
import type { Sources } from './route.ts'
import { answerRead, answerWrite, readRoute } from './routes.ts'

/** Where a dashboard is reached. */
export interface DashboardAddress {
  /** `http://127.0.0.1:4747/` */
  readonly url: string
  /**
   * The same with the token in its fragment: those who open it may change things. A secret. Without a token,
   * the same as `url`.
   */
  readonly urlWithToken: string
}

/** Pages that show a store and control it, and their HTTP API. */
export interface Dashboard extends AsyncDisposable {
  /** Answers a request, in any server that has such requests. It needs no `this`. */
  readonly fetch: (request: Request) => Promise<Response>
  /** Serves it by itself. */
  listen(options?: ListenOptions): Promise<DashboardAddress>
}

/** What decides about one request. */
interface Admission {
  /** Whether a token is needed to read. */
  readonly tokenFor: 'writes' | 'everything'
  /** The names that it may be sent to, besides those that are always known. */
  readonly hosts: ReadonlySet<string>
}

/** The dashboard of a client. */
export class DashboardService implements Dashboard {
  readonly fetch: Dashboard['fetch']
  readonly #options: ResolvedOptions
  readonly #hosts: ReadonlySet<string>
  readonly #log: Logger
  readonly #pages: Pages
  readonly #sources: Sources
  readonly #streams: EventStreams
  readonly #servers: NodeServer[] = []
  /** Takes it off the list of what the client stops. */
  readonly #leave: () => void
  #closed: Promise<void> | undefined

  constructor(client: Client, access: ClientAccess, options: ResolvedOptions) {
    const { clock } = access
    const { outbox, queues, doctor, tokenFor, basePath, hosts, maxStreams } = options
    this.#options = options
    this.#hosts = new Set(hosts)
    this.#log = childLog(access.log, { part: 'dashboard' })
    this.#pages = new Pages(basePath)
    this.#sources = {
      client,
      clock,
      outbox,
      queues,
      doctor,
      jobs: new BulkJobs(client, clock, (failure) => this.#note(failure, 'a bulk change')),
      meta: {
        version: VERSION,
        hasOutbox: outbox !== undefined,
        hasDoctor: doctor !== undefined,
        queues: [...queues.keys()],
      },
    }
    const live = new LiveAnswers({
      clock,
      route: readRoute,
      read: (name, query) => answerRead(this.#sources, name, query),
      failed: (failure) => this.#note(failure, 'a live view'),
    })
    this.#streams = new EventStreams(live, clock, maxStreams)
    this.#leave = access.beforeClose(() => this.#close())
    this.fetch = (request) => this.#answer(request, { tokenFor, hosts: this.#hosts })
  }

  async listen(given?: ListenOptions): Promise<DashboardAddress> {
    this.#checkOpen()
    const { port, host } = listenOptions(given)
    const { token, basePath } = this.#options
    if (!isLoopback(host) && token === undefined) {
      throw new TypeError(
        `listen: host "${host}" can be reached from other machines, which needs a token: ` +
          'give dashboard() the option token',
      )
    }
    const tokenFor = isLoopback(host) ? this.#options.tokenFor : 'everything'
    const ports = port === undefined ? [DEFAULT_PORT, 0] : [port]
    // A server that listens under a name is reached under it.
    const admission: Admission = { tokenFor, hosts: new Set([...this.#hosts, host]) }
    const server = await serve((request) => this.#answer(request, admission), host, ports)
    if (this.#closed !== undefined) await server[Symbol.asyncDispose]()
    this.#checkOpen()
    this.#servers.push(server)
    const url = `${server.origin}${basePath}/`
    const urlWithToken = token === undefined ? url : `${url}#token=${encodeURIComponent(token)}`
    return { url, urlWithToken }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave()
    await this.#close()
  }

  #close(): Promise<void> {
    this.#closed ??= (async () => {
      this.#streams.close()
      await this.#sources.jobs.close()
      await Promise.all(this.#servers.map((server) => server[Symbol.asyncDispose]()))
    })()
    return this.#closed
  }

  async #answer(request: Request, admission: Admission): Promise<Response> {
    try {
      this.#checkOpen()
      const url = new URL(request.url)
      const path = this.#pathOf(url)
      const isPage = path !== 'api' && !path.startsWith('api/')
      checkSender(request, url, { hosts: admission.hosts, isPage })
      return isPage
        ? this.#page(request, path)
        : await this.#api(request, url, path.slice('api/'.length), admission)
    } catch (error) {
      const failure = failureOf(error)
      this.#note(failure, `${request.method} ${new URL(request.url).pathname}`)
      return failureAnswer(failure)
    }
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw new Failure('unavailable', 'the dashboard is closed')
  }

  /** The part of the path below `basePath`. */
  #pathOf({ pathname }: URL): string {
    const { basePath } = this.#options
    if (pathname === basePath) return ''
    if (pathname.startsWith(`${basePath}/`)) return pathname.slice(basePath.length + 1)
    throw new Failure(
      'not_found',
      `the dashboard is at ${basePath}/, got the path ${JSON.stringify(pathname.slice(0, 200))}: ` +
        'fetch needs the whole path, also where a server takes away the one it is mounted at',
    )
  }

  #page({ method }: Request, path: string): Response {
    const page = this.#pages.get(path)
    if (method === 'GET') return page
    if (method === 'HEAD') return answer(200, null, Object.fromEntries(page.headers))
    throw new Failure('method_not_allowed', `pages are read with GET, got ${method}`)
  }

  async #api(request: Request, url: URL, name: string, { tokenFor }: Admission): Promise<Response> {
    const { token } = this.#options
    const authorized = token !== undefined && hasToken(request, token)
    if (request.method === 'POST') {
      if (token === undefined) {
        throw new Failure('read_only', 'this dashboard was given no token, so it only shows')
      }
      if (!authorized) throw unauthorized()
      const body = await readBody(request)
      // A body may take its time, and what it asks for must not begin after the end.
      this.#checkOpen()
      return jsonAnswer(200, await answerWrite(this.#sources, name, body))
    }
    if (request.method !== 'GET') {
      throw new Failure('method_not_allowed', `use GET or POST, got ${request.method}`)
    }
    const isLocked = tokenFor === 'everything' && !authorized
    if (name === 'meta') {
      const reads = tokenFor === 'everything' ? 'token' : 'open'
      const access: Access = { reads, writes: token !== undefined, authorized }
      // Without this much the pages could not ask for the token.
      if (isLocked) return jsonAnswer(200, access)
      const meta = await answerRead(this.#sources, name, url.searchParams)
      return jsonAnswer(200, { ...(meta as object), ...access })
    }
    if (isLocked) throw unauthorized()
    if (name === 'live') return this.#streams.open(url.searchParams.getAll('path'), request.signal)
    const body = await answerRead(this.#sources, name, url.searchParams)
    const isFile = name === 'instance/export'
    return jsonAnswer(200, body, isFile ? { 'content-disposition': 'attachment' } : {})
  }

  /** Logs details that the response leaves out. */
  #note({ code, cause }: Failure, what: string): void {
    if (cause === undefined || (code !== 'internal' && code !== 'unavailable')) return
    this.#log.error({ err: cause }, `dashboard: ${what} failed`)
  }
}

function unauthorized(): Failure {
  return new Failure('unauthorized', 'the token is missing or wrong')
}
