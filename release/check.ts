// Refuses a release that would not be what its tag says, before anything is built.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ACTION_BUNDLE, bundleAction } from '../src/build/action.ts'
import { must, type Release, ReleaseError, readJson, run } from './context.ts'
import { notesOf } from './notes.ts'

/** How many changed files an error names. */
const MAX_NAMED = 5

/**
 * Checks the version, the tag, the working tree, the changelog and the bundle of the action.
 *
 * @throws where one of them does not fit the others
 */
export async function check(release: Release): Promise<void> {
  checkVersion(release)
  await checkTree(release)
  await checkTag(release)
  notesOf(readFileSync(join(release.root, 'CHANGELOG.md'), 'utf8'), release.version)
  await checkAction()
  release.print(`${release.tag} can be released`)
}

function checkVersion(release: Release): void {
  const { version } = readJson(release, 'package-lock.json') as { version?: string }
  if (version !== release.version)
    throw new ReleaseError(
      `package-lock.json has version ${version}, package.json has ${release.version}: run npm install`,
    )
  if (release.tag !== `v${release.version}`)
    throw new ReleaseError(
      `the tag ${release.tag} does not match version ${release.version} of package.json: expected v${release.version}`,
    )
}

const git = (release: Release, ...args: string[]) => must(['git', ...args], { cwd: release.root, env: release.env })

async function checkTree(release: Release): Promise<void> {
  const changed = (await git(release, 'status', '--porcelain')).split('\n').filter((line) => line !== '')
  if (changed.length === 0) return
  const named = changed.slice(0, MAX_NAMED).map((line) => `  ${line}`)
  const rest = changed.length > MAX_NAMED ? [`  and ${changed.length - MAX_NAMED} more`] : []
  throw new ReleaseError(
    ['the working tree has changes that are not committed; commit or remove them:', ...named, ...rest].join('\n'),
  )
}

/** A tag that is there already must lead to this commit: a release is never made of anything else. */
async function checkTag(release: Release): Promise<void> {
  const reference = `refs/tags/${release.tag}^{commit}`
  const { code, stdout } = await run(['git', 'rev-parse', '--verify', '--quiet', reference], {
    cwd: release.root,
    env: release.env,
  })
  const head = await git(release, 'rev-parse', 'HEAD')
  if (code === 0 && stdout.trim() !== head)
    throw new ReleaseError(
      `the tag ${release.tag} is at commit ${stdout.trim()}, and this checkout at ${head}: check out ${release.tag}`,
    )
  if (code !== 0 && !release.dry)
    throw new ReleaseError(
      `the tag ${release.tag} does not exist here: git tag ${release.tag} && git push origin ${release.tag}`,
    )
}

async function checkAction(): Promise<void> {
  if (readFileSync(ACTION_BUNDLE, 'utf8') !== (await bundleAction()))
    throw new ReleaseError('packages/action/dist/index.js is not current: run npm run build:action, and commit it')
}
