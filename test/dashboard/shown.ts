// What the tests of the dashboard share: a store with a dashboard that is asked without a network.

import { expect } from 'vitest'

import { dashboard, type Dashboard, type DashboardOptions } from '../../src/dashboard/index.ts'
import type { Client } from '../../src/index.ts'

export const TOKEN = 'a-token-that-nobody-guesses'

/** A dashboard, and short ways to ask it. */
export interface Asked {
  readonly dashboard: Dashboard
  /** Sends a request below `http://localhost/`. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** The answer to a read, which must succeed. */
  get<T>(path: string): Promise<T>
  /** The answer to a write with the token, which must succeed. */
  post<T>(path: string, body: object): Promise<T>
}

/** Creates a dashboard with a token. It ends with its client. */
export function ask(client: Client, options: DashboardOptions = {}): Asked {
  const shown = dashboard(client, { token: TOKEN, ...options })
  const send = (path: string, init?: RequestInit): Promise<Response> =>
    shown.fetch(new Request(`http://localhost/${path}`, init))
  return {
    dashboard: shown,
    fetch: send,
    get: async (path) => answerOf(await send(path)),
    post: async (path, body) => answerOf(await send(path, written(body))),
  }
}

async function answerOf<T>(response: Response): Promise<T> {
  const body = (await response.json()) as T
  expect(body).not.toHaveProperty('error.code')
  expect(response.status).toBe(200)
  return body
}

/** A write with a token. */
export function written(body: object | string, token = TOKEN): RequestInit {
  return {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  }
}

/** Parameters of an address. */
export function query(given: Readonly<Record<string, string | number>>): string {
  const texts = Object.entries(given).map(([name, value]): [string, string] => [name, `${value}`])
  return String(new URLSearchParams(texts))
}
