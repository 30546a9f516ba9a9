// What the two processes have in common: names and types. A process that starts orders
// needs neither the code that carries them out nor what that code imports.

import { channel, workflow } from 'holdfast'

export interface Order {
  readonly item: string
  readonly cents: number
}

export const order = workflow<Order, string>('order')

export const approvals = channel<{ by: string; ok: boolean }>('approvals')
