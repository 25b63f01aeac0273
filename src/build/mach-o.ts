// Programs for macOS (Mach-O, 64 bit). What is compiled for an Intel Mac still has the signature of the bare runtime, which
// no longer fits and makes macOS stop the program; without any it starts. Those for Apple chips are signed by the compiler.

const SEGMENT = 0x19
const CODE_SIGNATURE = 0x1d
const FIRST_COMMAND = 32

/** The file without its signature, which is the last load command and the last bytes; as it is when it has none. */
export function withoutSignature(file: Uint8Array): Uint8Array {
  const bytes = file.slice()
  const view = new DataView(bytes.buffer)
  const word = (at: number) => view.getUint32(at, true)
  const count = word(16)
  let last = FIRST_COMMAND
  let lastSegment = FIRST_COMMAND
  for (let command = FIRST_COMMAND, left = count; left > 0; left--, command += word(command + 4)) {
    last = command
    if (word(command) === SEGMENT) lastSegment = command
  }
  if (word(last) !== CODE_SIGNATURE) return bytes
  const end = word(last + 8)
  view.setUint32(16, count - 1, true)
  view.setUint32(20, word(20) - word(last + 4), true)
  // The segment that held the signature, __LINKEDIT, ends with the file.
  view.setBigUint64(lastSegment + 48, BigInt(end) - view.getBigUint64(lastSegment + 40, true), true)
  bytes.fill(0, last, last + 16)
  return bytes.subarray(0, end)
}
