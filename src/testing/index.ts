// The public entry `holdfast/testing`: what tests of durable code need.
export { virtualClock, type VirtualClock } from '../base/virtual-clock.ts'
