import type { Client } from 'holdfast'
import type { Outbox } from 'holdfast/outbox'
import type { Queue } from 'holdfast/queue'
import {
  dashboard,
  type Dashboard,
  type DashboardAddress,
  type DashboardOptions,
  type Finding,
} from 'holdfast/dashboard'

export const findings: Finding[] = [{ level: 'ok', what: 'disk', detail: 'is empty', fix: '' }]

export function show(client: Client, outbox: Outbox, mails: Queue<{ to: string }>): Dashboard {
  const options: DashboardOptions = {
    token: process.env['DASHBOARD_TOKEN'] ?? 'a token of sixteen or more'.replaceAll(' ', '-'),
    basePath: '/admin/holdfast',
    hosts: ['ops.example.com'],
    outbox,
    queues: { mails },
    doctor: async () => findings,
    maxStreams: 50,
  }
  return dashboard(client, options)
}

export const answer = (shown: Dashboard, request: Request): Promise<Response> =>
  shown.fetch(request)

export const listen = (shown: Dashboard): Promise<DashboardAddress> => shown.listen({ port: 0 })
