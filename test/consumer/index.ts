import {
  CancelledError,
  failure,
  TimeoutError,
  type Codec,
  type Duration,
  type Logger,
} from 'holdfast'

export const OutOfStock = failure<{ readonly item: string }>('OutOfStock')
export const Closed = failure('Closed')
export const outOfStock = new OutOfStock('no chairs left', { item: 'chair' })
export const closed = new Closed('come back tomorrow')

export const caught = (error: unknown) =>
  error instanceof TimeoutError ? error.afterMs : error instanceof CancelledError && error.reason

export const item: string = outOfStock.details.item
export const patience: Duration = '5s'
export const roundTrip = (codec: Codec, value: unknown) => codec.decode(codec.encode(value))
export const logTo = (log: Logger) => log.info({ patience }, 'ready')
