// The file of a session's cassette: valid on every file system, and its own, whatever the name of the session contains.
import { join } from 'node:path'
import { sha256 } from '../lib/ids.ts'
import { shellLine } from '../lib/shell-line.ts'

const EXTENSION = '.yaml'
/** Names that stand for themselves: lower case, since some file systems ignore case. */
const SIMPLE = /^[a-z0-9](?:[a-z0-9._-]{0,78}[a-z0-9_-])?$/
/** Devices of Windows, with any extension, and other files of ours that have fixed names. */
const RESERVED = /^(?:(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)|(?:workspace|explore|understudy)$)/
const MAX_WORDS = 60

/**
 * The file name of a session's cassette: the name of the session if it is simple, otherwise the words in it and a
 * checksum of it.
 * @example
 * cassetteName('checkout-flow') // => 'checkout-flow.yaml'
 * cassetteName('../x') // => 'x~dc890e6ec174.yaml'
 */
export function cassetteName(session: string): string {
  if (SIMPLE.test(session) && !RESERVED.test(session)) return `${session}${EXTENSION}`
  const words = session
    .slice(0, 1_000)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, MAX_WORDS)
    .replace(/-$/, '')
  // UTF-16, since UTF-8 has one form for all lone surrogates.
  const checksum = sha256(Buffer.from(session, 'utf16le')).slice(0, 12)
  return `${words || 'session'}~${checksum}${EXTENSION}`
}

/**
 * The file of a session's cassette in a folder.
 * @example
 * cassetteFile('cassettes', 'own') // => 'cassettes/own.yaml'
 */
export const cassetteFile = (folder: string, session: string): string => join(folder, cassetteName(session))

/** The command that records a cassette, and no other. */
export const renewalCommand = (folder: string, cassette: string): string =>
  `${shellLine(['understudy', 'record', '--out', folder, '--only', cassette, '--'])} COMMAND`

/** The file of a new recording beside a cassette: while it is not complete, and if its command failed. */
export const besideFile = (file: string, state: 'incomplete' | 'failed'): string =>
  `${file.slice(0, -EXTENSION.length)}~${state}${EXTENSION}`

/** Whether a file is one of those. */
export const isBeside = (file: string): boolean => /~(?:incomplete|failed)\.yaml$/.test(file)

/** Whether only a cassette has such a name: one of those, or that of a session with a checksum. */
export const isCassetteName = (file: string): boolean => isBeside(file) || /~[0-9a-f]{12}\.yaml$/.test(file)

/** The folder of binary bodies, which are named by their checksums. */
export const blobFolder = (folder: string): string => join(folder, 'blobs')
