// Moves the tag that workflows name the action by, such as v1, to the commit of a release.
import { must, type Release } from './context.ts'
import { readManifest } from './manifest.ts'

/** Moves it in the remote repository `origin`; does nothing where it is there already, or for a prerelease after a final version. */
export async function moveActionTag(release: Release): Promise<void> {
  const { root: cwd, env, print } = release
  const { actionTag, commit } = readManifest(release)
  if (actionTag === null) return print('this prerelease does not move the tag of the action')
  if (release.dry) return print(`would move the tag ${actionTag} to ${commit}`)
  const reference = `refs/tags/${actionTag}`
  const [found = ''] = (await must(['git', 'ls-remote', 'origin', reference], { cwd, env })).split('\t')
  if (found === commit) return print(`the tag ${actionTag} is at ${commit} already`)
  await must(['git', 'push', '--force', 'origin', `${commit}:${reference}`], { cwd, env })
  print(`moved the tag ${actionTag} to ${commit}`)
}
