// Who may ask. A dashboard answers on an address that every page in the same browser can reach, so what
// counts is who sent the request rather than that it arrived:
//
//   - Another site may have led the browser here under a name of its own, which it lets point to this
//     address (DNS rebinding). Its pages would be of the same origin. So only known names are answered.
//   - Another site may let the browser send requests here. Browsers say so, in `Origin` and in
//     `Sec-Fetch-Site`; programs that are no browsers send neither. A proxy may have put its own name for
//     this server in place of `Host`, so an `Origin` under a name that was given is known, too.
//   - There are no cookies: the token is sent in a header, which no other site can do.

import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import { Failure } from './failure.ts'

/** Throws unless the request names this dashboard, and comes from its own pages or from a program. */
export function checkSender(
  request: Request,
  url: URL,
  { hosts, isPage }: { readonly hosts: ReadonlySet<string>; readonly isPage: boolean },
): void {
  const given = request.headers.get('host')
  for (const host of given === null ? [url.host] : [given, url.host]) checkHost(host, hosts)
  const origin = request.headers.get('origin')
  if (origin !== null) checkOrigin(origin, (given ?? url.host).toLowerCase(), hosts)
  const site = request.headers.get('sec-fetch-site')
  if (site === null || site === 'same-origin' || site === 'none') return
  // A link to the dashboard may be anywhere. The page alone shows nothing of the store.
  const isLink =
    isPage &&
    request.method === 'GET' &&
    request.headers.get('sec-fetch-mode') === 'navigate' &&
    request.headers.get('sec-fetch-dest') === 'document'
  if (!isLink) throw new Failure('forbidden', 'the request was sent by the page of another site')
}

function checkOrigin(origin: string, host: string, hosts: ReadonlySet<string>): void {
  const own = hostOfOrigin(origin)
  if (own === host || (own !== undefined && hosts.has(hostName(own) ?? ''))) return
  throw new Failure(
    'forbidden',
    `the request was sent by a page of ${shown(origin)} to the host ${shown(host)}, which is another site: ` +
      'if a proxy is in between, let it pass on the header Host, or add the name to the option hosts',
  )
}

function checkHost(host: string, hosts: ReadonlySet<string>): void {
  const name = hostName(host)
  if (name !== undefined && (isKnown(name) || hosts.has(name))) return
  throw new Failure(
    'forbidden',
    `this dashboard does not answer under the name ${shown(host)}: ` +
      'if it is yours, add it to the option hosts',
  )
}

function shown(given: string): string {
  return JSON.stringify(given.slice(0, 200))
}

/** No other site can let a browser reach this address under such a name. */
function isKnown(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || isIP(name) !== 0
}

/** The name in a `Host` header: without the port, and without the brackets of IPv6. */
export function hostName(host: string): string | undefined {
  const found = /^(?:\[([\da-f:.]+)\]|([^\s:/\\@?#[\]]+))(?::\d{1,5})?$/i.exec(host)
  return (found?.[1] ?? found?.[2])?.toLowerCase()
}

function hostOfOrigin(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase()
}

/** Whether a host is only reached from this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** Whether a request has the token. Takes as long whatever the request has. */
export function hasToken(request: Request, token: string): boolean {
  const given = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
  return timingSafeEqual(digest(given), digest(token))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
