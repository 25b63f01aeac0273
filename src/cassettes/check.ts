// What `understudy check` finds in cassettes.
import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { UpstreamBody } from '../contract/core/cassette.ts'
import { cassetteKey } from '../contract/core/cassette-key.ts'
import { type FieldStep, formatFieldPath } from '../contract/core/volatile-rule.ts'
import { placeholdersIn, redactedNumber } from '../lib/placeholders.ts'
import { counted } from '../lib/units.ts'
import { isObject } from '../lib/values.ts'
import { FileError } from '../schema/source.ts'
import { besideFile, blobFolder, cassetteName } from './names.ts'
import { readStored, type StoredCassette } from './read.ts'

/** What is wrong with a cassette, and what its readers should know; each is a line that begins with file and line. */
export interface CassetteCheck {
  interactions: number
  /** Why it cannot be replayed. */
  problems: readonly string[]
  notes: readonly string[]
  /** The names of its binary bodies; undefined if it cannot be read. */
  blobs: ReadonlySet<string> | undefined
}

/** Checks the cassette in a file, and its binary bodies. */
export function checkCassette(file: string): CassetteCheck {
  let cassette: StoredCassette
  try {
    cassette = readStored(file)
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return { interactions: 0, problems: error.problems, notes: [], blobs: undefined }
  }
  return {
    interactions: cassette.stored.length,
    problems: incomplete(cassette),
    notes: [...misnamed(cassette), ...repeatedKeys(cassette), ...redacted(cassette), ...omitted(cassette)],
    blobs: new Set(cassette.stored.flatMap((one) => one.blobs)),
  }
}

const incomplete = ({ file, header, tornLine }: StoredCassette): string[] => {
  if (header.state === 'complete') return []
  const torn = tornLine === undefined ? '' : `, and the interaction at line ${tornLine} was not written whole`
  return [`${file}:1: state is incomplete: its recording did not end${torn}; record it again, or delete the file`]
}

function misnamed({ file, header: { session, state } }: StoredCassette): string[] {
  const name = cassetteName(session)
  const isOwn = basename(file) === name || (state === 'incomplete' && basename(file) === besideFile(name, 'incomplete'))
  return isOwn ? [] : [`${file}:1: is never replayed under this name: the file of session '${session}' is ${name}`]
}

/** Several interactions of one key are replayed in their order. */
function repeatedKeys({ file, header, stored }: StoredCassette): string[] {
  const byKey = Map.groupBy(stored, ({ interaction }) => cassetteKey(interaction.request, header.volatile))
  return [...byKey.values()]
    .filter((same) => same.length > 1)
    .map((same) => {
      const lines = same.map(({ line }) => line).join(', ')
      return `${file}:${same[0]?.line}: ${same.length} interactions have the same request (lines ${lines}): they are replayed in this order`
    })
}

/** The fields that contain placeholders: whatever a request has in their place is accepted. */
function redacted({ file, stored }: StoredCassette): string[] {
  const found = new Map<string, { line: number; count: number }>()
  for (const { line, interaction } of stored) {
    for (const place of redactedFields(interaction.request.body)) {
      const entry = found.getOrInsertComputed(place, () => ({ line, count: 0 }))
      entry.count++
    }
  }
  return [...found].map(
    ([place, { line, count }]) =>
      `${file}:${line}: ${place} is redacted (${counted(count, 'time')}), so its value is not compared`,
  )
}

/** The kinds of the placeholders in a text or a number, also in a URL. */
function placeholderKinds(value: string | number): string[] {
  const text = String(value)
  const whole = redactedNumber(text)
  if (whole) return [whole.kind]
  const decoded = text.replace(/%3Csecret%3A([a-z0-9-]+)%3A(\d+)%3E/gi, '<secret:$1:$2>')
  return placeholdersIn(decoded).map(({ kind }) => kind)
}

/** The paths of placeholders with their kinds; items of lists have no numbers, so that a conversation is one path. */
function redactedFields(body: UpstreamBody): Set<string> {
  const places = new Set<string>()
  const visit = (value: unknown, steps: readonly FieldStep[]): void => {
    if (typeof value === 'string' || typeof value === 'number') {
      for (const kind of placeholderKinds(value)) places.add(`${formatFieldPath(steps) || 'the body'} (${kind})`)
    } else if (Array.isArray(value)) for (const item of value) visit(item, [...steps, null])
    else if (isObject(value)) for (const [name, inner] of Object.entries(value)) visit(inner, [...steps, name])
  }
  if (body.kind === 'json') visit(body.value, [])
  else if (body.kind === 'text') visit(body.text, [])
  else for (const field of body.fields) visit('value' in field ? field.value : field.file, [field.name])
  return places
}

const omitted = ({ file, stored }: StoredCassette): string[] =>
  stored.flatMap(({ line, interaction }) =>
    interaction.attempts.flatMap(({ response }) =>
      response?.omitted
        ? [
            `${file}:${line}: ${counted(response.omitted, 'byte')} of the response were not recorded, since it is too large`,
          ]
        : [],
    ),
  )

/**
 * A line for each binary body that no cassette of its folder contains.
 * @param checks those of files, by path
 */
export function unusedBlobs(checks: ReadonlyMap<string, CassetteCheck>): string[] {
  const folders = Map.groupBy(checks, ([file]) => dirname(file))
  return [...folders].flatMap(([folder, files]) => {
    const names = filesIn(blobFolder(folder))
    // A cassette that was not checked, or cannot be read, may contain any.
    const isWhole =
      files.every(([, { blobs }]) => blobs) &&
      filesIn(folder).every((name) => !name.endsWith('.yaml') || checks.has(join(folder, name)))
    const used = new Set(files.flatMap(([, { blobs = [] }]) => [...blobs]))
    return (isWhole ? names : [])
      .filter((name) => !used.has(name))
      .map((name) => `${join(blobFolder(folder), name)}: no cassette contains this file`)
  })
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}
