import { prometheus, reportStats, type Metrics } from 'holdfast/telemetry'

export const metrics = prometheus({ maxSeries: 100 })
export const sink: Metrics = metrics
metrics.count('orders', 1, { shop: 'north' })
reportStats(metrics, { outbox: [{ topic: 'mails', depth: 1, oldestMs: 5, lag: 1 }] })
export const text: string = metrics.text()
