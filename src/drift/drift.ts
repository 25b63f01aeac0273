// Asks providers recorded requests again, and compares the shapes of their responses with the recorded ones.
import type { Cassette, Interaction, RecordedAttempt, UpstreamRequest } from '../contract/core/cassette.ts'
import { exactJsonText } from '../lib/exact-json.ts'
import { placeholderIn } from '../lib/placeholders.ts'
import { type Change, change, changesBetween } from './compare.ts'
import type { ResponseSchemas } from './known-fields.ts'
import { ErrorInResponse, shapeOf, UnreadableResponse } from './wire-shape.ts'

/**
 * What became of a recorded request. `not comparable`: a response cannot be read, or the request cannot be repeated;
 * `not reachable`: the provider did not respond, or gave no access; `not asked`: the limit on cost was reached, or the
 * command was stopped; `skipped`: only failures were recorded, which are not provoked again.
 */
export type DriftResult = (typeof DRIFT_RESULTS)[number]
/** All results. */
export const DRIFT_RESULTS = ['same', 'changed', 'not comparable', 'not reachable', 'not asked', 'skipped'] as const

/** The result for one recorded request. */
export interface DriftRecord {
  /** The cassette's session. */
  cassette: string
  file: string
  line: number
  request: Pick<UpstreamRequest, 'provider' | 'operation' | 'model'>
  result: DriftResult
  /** Why there is nothing to compare. */
  reason?: string
  /** The changes, the most severe first. */
  changes: readonly Change[]
}

/** How requests are asked again. */
interface DriftOptions {
  /**
   * Sends a request.
   * @throws Error if there is no response; its message says why
   */
  ask(request: UpstreamRequest): Promise<RecordedAttempt>
  /** The schemas of the responses to a request; undefined for an API that is not known. */
  schemasOf(request: UpstreamRequest): ResponseSchemas | undefined
  /** Why a request may not be asked now, such as a limit on cost; undefined if it may. */
  refusal(interaction: Interaction): string | undefined
  /** Number of requests at a time. */
  jobs: number
}

/** Asks all recorded requests again. The results are in the order of the recordings. */
export async function findDrift(cassettes: readonly Cassette[], options: DriftOptions): Promise<DriftRecord[]> {
  const all = cassettes.flatMap((cassette) => cassette.interactions.map((interaction) => ({ cassette, interaction })))
  const records: DriftRecord[] = []
  let next = 0
  const work = async () => {
    for (let index = next++; index < all.length; index = next++) {
      const one = all[index]
      if (!one) return
      const { cassette, interaction } = one
      const { provider, operation, model } = interaction.request
      records[index] = {
        cassette: cassette.header.session,
        file: cassette.file,
        line: interaction.line,
        request: { provider, operation, model },
        changes: [],
        ...(await judged(interaction, options)),
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(options.jobs, all.length) }, work))
  return records
}

type Judgement = Pick<DriftRecord, 'result'> & Partial<Pick<DriftRecord, 'reason' | 'changes'>>

async function judged(interaction: Interaction, options: DriftOptions): Promise<Judgement> {
  const { request, attempts } = interaction
  const recorded = attempts.findLast(({ response, end }) => end === 'complete' && isSuccess(response))
  if (!recorded) return NO_SUCCESS
  const problem = unaskable(request)
  if (problem) return { result: 'not comparable', reason: problem }
  let before: ReturnType<typeof shapeOf>
  try {
    before = shapeOf(recorded)
  } catch (error) {
    if (error instanceof ErrorInResponse) return NO_SUCCESS
    return unreadable('recorded', error)
  }
  const refused = options.refusal(interaction)
  if (refused) return { result: 'not asked', reason: refused }
  let live: RecordedAttempt
  try {
    live = await options.ask(request)
  } catch (error) {
    return { result: 'not reachable', reason: error instanceof Error ? error.message : String(error) }
  }
  const { response } = live
  if (response && !isSuccess(response)) return refusedBy(response.status, recorded)
  try {
    const changes = changesBetween(before, shapeOf(live), options.schemasOf(request))
    return { result: changes.length > 0 ? 'changed' : 'same', changes }
  } catch (error) {
    if (error instanceof ErrorInResponse)
      return {
        result: 'not reachable',
        reason: `the provider sent an error: ${JSON.stringify(error.message.slice(0, MAX_MESSAGE))}`,
      }
    return unreadable('live', error)
  }
}

const NO_SUCCESS: Judgement = { result: 'skipped', reason: 'no successful response was recorded' }
const MAX_MESSAGE = 80

const isSuccess = (response: RecordedAttempt['response']) =>
  response !== undefined && response.status >= 200 && response.status < 300

const unreadable = (which: 'recorded' | 'live', error: unknown): Judgement => {
  if (!(error instanceof UnreadableResponse)) throw error
  return { result: 'not comparable', reason: `the ${which} response ${error.message}` }
}

/** Statuses that say nothing about the API: no access, no quota, or an outage. */
const SAYS_NOTHING = new Set([401, 403, 407, 408, 429])

function refusedBy(status: number, { response }: RecordedAttempt): Judgement {
  if (status < 400 || status >= 500 || SAYS_NOTHING.has(status)) {
    return { result: 'not reachable', reason: `the provider returned status ${status}` }
  }
  const found = change('status-changed', 'status', String(response?.status), String(status))
  return { result: 'changed', changes: [found] }
}

/** Why a recorded request cannot be asked again. */
function unaskable({ body, path, headers }: UpstreamRequest): string | undefined {
  if (body.kind === 'form' && body.fields.some((field) => 'sha256' in field)) {
    return 'the request has a file, of which only the checksum was recorded'
  }
  const placeholder = placeholderIn(`${path} ${JSON.stringify(headers)} ${exactJsonText(body)}`)
  return placeholder && `the request contains ${placeholder}, whose value was not recorded`
}

/** The exit code for the results: 5 if something could not be compared, 4 for a change that is an error, otherwise 0. */
export function driftExit(records: readonly DriftRecord[]): number {
  if (records.some(({ result }) => UNREAD.has(result))) return 5
  return records.some(({ changes }) => changes.some(({ severity }) => severity === 'error')) ? 4 : 0
}
const UNREAD: ReadonlySet<DriftResult> = new Set(['not comparable', 'not reachable', 'not asked'])
