// Why a runtime gives up what it has in memory. The signals of activities say it, and the log does.

export const TAKEN_OVER = 'another runtime has taken over'
export const NOT_STARTED = 'its start was not accepted'
