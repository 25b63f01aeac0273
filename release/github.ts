// The release on GitHub, through its REST API: drafted with its files first, published when everything else is in place.
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { FOLDERS, type Release, ReleaseError } from './context.ts'
import { filesOf, type ReleaseFile } from './manifest.ts'
import { NOTES } from './notes.ts'
import { isPrerelease } from './versions.ts'

/** An uploaded file, as GitHub describes it. */
interface Asset {
  id: number
  name: string
  /** Such as `uploaded`; an upload that was cut off leaves another. */
  state: string
  /** Such as `sha256:...`. */
  digest?: string | null
}

/** A release, as GitHub describes it. */
interface Draft {
  id: number
  tag_name: string
  draft: boolean
  /** Ends with the names of parameters in braces. */
  upload_url: string
  assets: Asset[]
}

/** Most releases that are looked through for a draft: drafts are the newest. */
const PAGE = 100

/** Calls GitHub; gives its answer, or undefined for one without a body. */
async function call<Answer>(release: Release, method: string, path: string, body?: BodyInit): Promise<Answer> {
  const { GITHUB_API_URL: api = 'https://api.github.com', GITHUB_TOKEN: token } = release.env
  if (!token) throw new ReleaseError('GITHUB_TOKEN is not set; it must be a token that may write contents')
  const url = path.startsWith('http') ? path : `${api}/repos/${release.names.repository}${path}`
  const response = await fetch(url, {
    method,
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      'content-type': typeof body === 'string' ? 'application/json' : 'application/octet-stream',
      'x-github-api-version': '2022-11-28',
    },
    ...(body !== undefined && { body }),
  }).catch((error: Error) => {
    throw new ReleaseError(`${method} ${url} failed: ${error.message}`)
  })
  const text = await response.text()
  if (!response.ok) throw new ReleaseError(`GitHub refused ${method} ${url} with status ${response.status}: ${text}`)
  return (text === '' ? undefined : JSON.parse(text)) as Answer
}

const find = async (release: Release) =>
  (await call<Draft[]>(release, 'GET', `/releases?per_page=${PAGE}`)).find(({ tag_name }) => tag_name === release.tag)

/** What the release says of itself; the same each time it is written. */
const description = (release: Release) => ({
  tag_name: release.tag,
  name: release.tag.replace(/^v/, ''),
  body: readFileSync(join(release.out, NOTES), 'utf8'),
  prerelease: isPrerelease(release.version),
})

/**
 * Drafts the release and uploads its files. Files that are there with the same contents stay; others are replaced while it is a draft.
 *
 * @throws where GitHub refuses, or the release is published with other files
 */
export async function draftRelease(release: Release): Promise<void> {
  const files = filesOf(release, FOLDERS.assets)
  if (release.dry) {
    release.print(`would draft the GitHub release ${release.tag} with ${files.length} files`)
    return
  }
  const draft =
    (await find(release)) ??
    (await call<Draft>(release, 'POST', '/releases', JSON.stringify({ ...description(release), draft: true })))
  for (const file of files) await upload(release, draft, file)
}

async function upload(release: Release, draft: Draft, { path, sha256 }: ReleaseFile): Promise<void> {
  const name = basename(path)
  const found = draft.assets.find((asset) => asset.name === name)
  if (found?.state === 'uploaded' && found.digest === `sha256:${sha256}`)
    return release.print(`${name} is already uploaded`)
  if (!draft.draft)
    throw new ReleaseError(
      `the GitHub release ${release.tag} is published ${found ? 'with another' : 'without'} ${name}: release another version`,
    )
  if (found) await call(release, 'DELETE', `/releases/assets/${found.id}`)
  const url = `${draft.upload_url.replace(/\{.*\}$/, '')}?name=${encodeURIComponent(name)}`
  await call(release, 'POST', url, new Blob([readFileSync(join(release.out, path))]))
  release.print(`uploaded ${name}`)
}

/**
 * Publishes the draft.
 *
 * @throws where there is none, or GitHub refuses
 */
export async function publishRelease(release: Release): Promise<void> {
  filesOf(release, FOLDERS.assets)
  if (release.dry) return release.print(`would publish the GitHub release ${release.tag}`)
  const draft = await find(release)
  if (!draft) throw new ReleaseError(`GitHub has no release ${release.tag}: run npm run release -- github-draft`)
  if (!draft.draft) return release.print(`the GitHub release ${release.tag} is already published`)
  const latest = isPrerelease(release.version) ? 'false' : 'true'
  const change = { ...description(release), draft: false, make_latest: latest }
  await call(release, 'PATCH', `/releases/${draft.id}`, JSON.stringify(change))
  release.print(`published the GitHub release ${release.tag}`)
}
