// Cassettes: the recorded attempts of real providers, redacted, for replay. One file per session; one YAML document per
// interaction after a header document.

/** Version of the file format. */
export const CASSETTE_FORMAT = 1

/** The first document of a cassette. */
export interface CassetteHeader {
  cassette: typeof CASSETTE_FORMAT
  /** Name of the session, as the program named it. It may contain any character, `/` included. */
  session: string
  /** `incomplete` until the run that recorded it has ended. An incomplete cassette is not replayed. */
  state: 'incomplete' | 'complete'
  /** Day of the recording, such as `2026-11-26`. */
  recorded: string
  /** Version of the program that recorded it. */
  understudy: string
  /** The rules in force during the recording, by which its requests are compared. */
  volatile: readonly VolatileRule[]
  /** Paths of the settings whose values were replaced, besides what is always replaced. */
  redact: readonly string[]
}

/**
 * A named rule of `understudy.yaml`: a field of the request that changes from run to run, and is not compared. Rules are
 * proposed by `record --doctor`, and never guessed.
 */
export interface VolatileRule {
  name: string
  /** Field of the body, such as `metadata.run_id` or `messages[*].content`; `[*]` is every item of a list. */
  path: string
  /** Regular expression for the volatile part of the text; without it the whole value is volatile. */
  pattern?: string | undefined
  /** Operation that it applies to, such as `chat.completions`; default: all. */
  operation?: string | undefined
}

/** The request of an attempt to its provider, without retry and fallback settings, and without keys. */
export interface UpstreamRequest {
  provider: string
  /** Name of the operation, such as `chat.completions`. */
  operation: string
  /** Name of the model at its provider. */
  model: string
  /** Path and query at the provider. They are recorded for the reader, and not compared. */
  path: string
  /** The headers that change the meaning of a request (`MEANING_HEADERS`), in lower case. */
  headers: Readonly<Record<string, string>>
  body: UpstreamBody
}

/** Body of a request. A file is represented by its size and checksum, an integer that a number would round by a bigint. */
export type UpstreamBody =
  | { kind: 'json'; value: unknown }
  | { kind: 'form'; fields: readonly FormField[] }
  | { kind: 'text'; text: string }

/** A field of a form: a text, or a file with its name, type, size in bytes and SHA-256 in hexadecimal. */
export type FormField =
  | { name: string; value: string }
  | { name: string; file: string; type: string; size: number; sha256: string }

/** Request headers that change what a request means. Forwarding passes them on; keys depend on them. */
export const MEANING_HEADERS = ['anthropic-version', 'anthropic-beta', 'openai-beta'] as const
/** Those whose value is a list without an order. Packages and proxies add items of their own. */
export const HEADER_LISTS = /-beta$/

/** How an attempt ended. Only `complete` is replayed as a complete response. */
export type AttemptEnd = 'complete' | 'cut by provider' | 'reset' | 'timed out' | 'left by client'

/** A piece of a body as it arrived: `at` is in ms since the request was sent. */
export interface Frame {
  at: number
  bytes: Uint8Array
}

/** One attempt: the provider's response as received, and how it ended. */
export interface RecordedAttempt {
  /** Absent if nothing was received. */
  response?:
    | {
        status: number
        /** Allowed headers of the provider, in the order received; names are in lower case, repeated ones stay apart. */
        headers: readonly (readonly [name: string, value: string])[]
        /** Milliseconds from the request to the headers. */
        at: number
        /** The body. A body received in one piece has one frame. */
        frames: readonly Frame[]
        /** Bytes of the body beyond the limit, which were passed on and are not in the frames. */
        omitted?: number | undefined
      }
    | undefined
  end: AttemptEnd
  /** Code of the connection error that ended it, such as `ECONNREFUSED`; absent for a closed connection. */
  reason?: string | undefined
  /** Milliseconds from the request to the end. */
  endedAt: number
}

/**
 * One document: a request, and the attempts with it that followed each other, such as a 429 and the response to its
 * retry. The grouping is for readers; replay takes the attempts of a key one by one, first in, first out.
 */
export interface Interaction {
  /** When its first attempt was sent, in ms on a clock of the recording. Absent of what was read from a file. */
  started?: number
  /** Number of the conversation's turn, from 1. */
  turn: number
  request: UpstreamRequest
  attempts: readonly RecordedAttempt[]
}

/** A whole cassette, and where its documents begin. */
export interface Cassette {
  file: string
  header: CassetteHeader
  interactions: readonly (Interaction & { line: number })[]
}
