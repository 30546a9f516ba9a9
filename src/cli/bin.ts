#!/usr/bin/env node
import { writeSync } from 'node:fs'
import { EXIT } from './errors/cli-error.ts'
import { main, ownsSignals } from './main.ts'

/** How long a command that was interrupted may take to close its connections. */
const GRACE_MS = 1_000

/** Ends the process because its output cannot be written. */
function endBecauseOf(error: NodeJS.ErrnoException): never {
  // `| head` closes the pipe: the rest is not read.
  if (error.code === 'EPIPE') process.exit(EXIT.ok)
  // Not through the stream, which may be the one that failed.
  try {
    writeSync(2, `holdfast: cannot write the output: ${error.message}\n`)
  } catch {
    // Then the exit code has to do.
  }
  process.exit(EXIT.failed)
}

const { stdin, stdout, stderr, env } = process
const argv = process.argv.slice(2)
const interrupt = new AbortController()
let isStopping = false

/** Stops a command that runs until it gets a signal: what it began must not end in the middle. */
function stopInOrder(error: NodeJS.ErrnoException): void {
  // The line about the stop fails as well.
  if (isStopping) return
  isStopping = true
  if (!process.emit('SIGTERM', 'SIGTERM')) endBecauseOf(error)
}

const isLongRunning = ownsSignals(argv)
for (const stream of [stdout, stderr]) {
  stream.on('error', isLongRunning ? stopInOrder : endBecauseOf)
}
if (!isLongRunning) {
  process.once('SIGINT', () => {
    interrupt.abort()
    process.once('SIGINT', () => process.exit(EXIT.interrupted))
    setTimeout(() => process.exit(EXIT.interrupted), GRACE_MS)
  })
}

/** Ends the process once all is written: pipes are asynchronous on some systems. */
function endWith(code: number): void {
  // Not 0: what restarts it on failure has to do so.
  if (isStopping) process.exit(EXIT.failed)
  stdout.write('', () => {
    // The stream of a file reports an error later than the end of this write.
    if (stdout.errored) endBecauseOf(stdout.errored)
    stderr.write('', () => process.exit(code))
  })
}

void main(argv, { stdin, stdout, stderr, env, cwd: process.cwd() }, interrupt.signal).then(endWith)
