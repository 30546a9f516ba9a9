// Loaded before a program: kills it with SIGKILL as soon as it has printed a line with a given text.
// From the inside, because from the outside the kill would come some milliseconds late.

const text = process.env['DIE_ON_LINE']
if (!text) throw new Error('die-on-line: DIE_ON_LINE says on which')

const write = process.stdout.write.bind(process.stdout)
process.stdout.write = (chunk: string | Uint8Array): boolean => {
  // Writing to a pipe is synchronous: the line is out before the process is gone.
  const written = write(String(chunk))
  if (String(chunk).includes(text)) process.kill(process.pid, 'SIGKILL')
  return written
}
