// Where Understudy is published: the names that only the owner can decide, from release/settings.json. Until they are decided they are
// null there; a rehearsal of a release uses names that nobody can register.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const FILE = join(import.meta.dir, 'settings.json')

const Settings = z.strictObject({
  npmScope: z
    .string()
    .regex(/^@[a-z0-9][a-z0-9._-]*$/, 'must be the scope of npm packages, such as "@example"')
    .describe('Scope of the npm packages.'),
  owner: z
    .string()
    .regex(/^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$/, 'must be the name of a GitHub user or organization')
    .nullable()
    .describe('GitHub user or organization that owns the repository and reviews changes.'),
  repository: z
    .string()
    .regex(/^[\w.-]+\/[\w.-]+$/, 'must be OWNER/NAME')
    .nullable()
    .describe('Repository on GitHub; default: OWNER/understudy.'),
  image: z
    .string()
    .regex(
      /^[a-z0-9.-]+(?::\d+)?\/[a-z0-9._/-]+$/,
      'must be a container image without a tag, such as "ghcr.io/example/understudy"',
    )
    .nullable()
    .describe('Container image without a tag; default: ghcr.io/ and the repository.'),
  homepage: z.httpUrl().nullable().describe('Address of the documentation; default: the page of the repository.'),
})

/** Names under which Understudy is published; null until the owner decides. */
export type Settings = z.infer<typeof Settings>

/** The same names, every one decided. */
export type PublishedNames = { [Key in keyof Settings]: NonNullable<Settings[Key]> }

/**
 * The settings as the file has them.
 *
 * @throws where a key is missing, unknown or invalid, with the key and what is valid
 */
export function readSettings(file: string = FILE): Settings {
  const { data, error } = Settings.safeParse(JSON.parse(readFileSync(file, 'utf8')))
  if (data) return data
  const problems = error.issues.map(({ path, message }) => `'${path.join('.')}' ${message}`)
  throw new Error(`${file}: ${problems.join('; ')}`)
}

/** Names that nobody can register, for a rehearsal: no user of GitHub has a dot, and `.invalid` is reserved (RFC 2606, section 2). */
const PLACEHOLDERS = {
  owner: 'owner.invalid',
  repository: 'owner.invalid/understudy',
  image: 'registry.invalid/understudy',
  homepage: 'https://understudy.invalid',
}

/**
 * The names that follow from the settings: the repository from its owner, image and homepage from the repository.
 *
 * @param rehearsal whether names that nobody can register stand in for an owner that is not decided
 * @throws where the owner is not decided and it is no rehearsal
 */
export function publishedNames(settings: Settings, { rehearsal = false } = {}): PublishedNames {
  const { npmScope, owner } = settings
  if (owner === null) {
    if (rehearsal) return { npmScope, ...PLACEHOLDERS }
    throw new Error(
      "release/settings.json: 'owner' is not set; it must be the GitHub user or organization that publishes",
    )
  }
  const repository = settings.repository ?? `${owner}/understudy`
  const image = settings.image ?? `ghcr.io/${repository.toLowerCase()}`
  return { npmScope, owner, repository, image, homepage: settings.homepage ?? `https://github.com/${repository}` }
}
