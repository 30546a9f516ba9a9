import type { LeaseKeeper, LeaseOrder } from '../../store/lease-keeper.ts'
import type { StorePlace } from '../file/store-place.ts'
import type { HintHub } from './hints.ts'
import type { ArgsOf, OperationName, ResultOf } from './table.ts'

/** What a store needs of the thread that has its file open: its own, or that of the caller. */
export interface StoreThread extends StorePlace {
  readonly hub: HintHub
  open(): Promise<void>
  /** Runs an operation, with a clock that is ahead of the thread's by this much. */
  call<Name extends OperationName>(
    operation: Name,
    args: ArgsOf<Name>,
    clockOffsetMs?: number,
  ): Promise<ResultOf<Name>>
  keepLease(order: LeaseOrder): LeaseKeeper
  close(): Promise<void>
}
