// The public entry `holdfast/dashboard`.
import { describe } from '../base/describe.ts'
import type { Client } from '../index.ts'
import { CLIENT_ACCESS, type ClientWithAccess } from '../store/client-access.ts'
import { type Dashboard, DashboardService } from './dashboard.ts'
import { dashboardOptions, type DashboardOptions } from './options.ts'

/**
 * Creates a dashboard for the store of a client. It shows and does what the client can. It only shows unless
 * it is given a token, and it ends with the client.
 *
 * @example
 * const { url } = await dashboard(client).listen()
 */
export function dashboard(client: Client, options?: DashboardOptions): Dashboard {
  const access = (client as Partial<ClientWithAccess> | undefined)?.[CLIENT_ACCESS]
  if (access === undefined) {
    const needed = 'a client, from open() or connect()'
    throw new TypeError(`dashboard: needs ${needed}, got ${describe(client)}`)
  }
  return new DashboardService(client, access, dashboardOptions(options))
}

export type { ApiFinding as Finding } from './api.ts'
export type { Dashboard, DashboardAddress } from './dashboard.ts'
export type { DashboardOptions, ListenOptions } from './options.ts'
