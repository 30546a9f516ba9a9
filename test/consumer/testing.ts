import { virtualClock } from 'holdfast/testing'

export const clock = virtualClock()
export const advanced = clock.advance('1h')
