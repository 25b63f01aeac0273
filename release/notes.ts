// The notes of a release: what the changelog says of its version.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Release, ReleaseError, writePart } from './context.ts'

/** Name of the file. */
export const NOTES = 'notes.md'

/**
 * The section of a version, without its heading: `## 1.0.0`, with or without brackets and a date behind it.
 *
 * @throws where the changelog has none, or it is empty
 * @example
 * notesOf('# Changelog\n\n## 1.0.0\n\n- New\n\n## 0.1.0\n\n- Old', '1.0.0') // => '- New'
 */
export function notesOf(changelog: string, version: string): string {
  const section = changelog.split(/^(?=## )/m).find((part) => /^## \[?([^\]\s]+)/.exec(part)?.[1] === version)
  if (!section) throw new ReleaseError(`CHANGELOG.md has no section "## ${version}"`)
  const text = section.slice(section.indexOf('\n') + 1).trim()
  if (!section.includes('\n') || text === '')
    throw new ReleaseError(`the section "## ${version}" of CHANGELOG.md is empty`)
  return text
}

/** Links to files of the repository lead there at the tag: notes are read outside of it. */
const absoluteLinks = (text: string, base: string): string =>
  text.replace(/\]\((?!https?:|#|mailto:)([^)]+)\)/g, `](${base}/$1)`)

/** Writes the notes. */
export async function writeNotes(release: Release): Promise<void> {
  const changelog = readFileSync(join(release.root, 'CHANGELOG.md'), 'utf8')
  const base = `https://github.com/${release.names.repository}/blob/${release.tag}`
  writePart(release, NOTES, `${absoluteLinks(notesOf(changelog, release.version), base)}\n`)
}
