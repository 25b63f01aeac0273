// Uploads the container image with skopeo, which reads the layout that was assembled.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { FOLDERS, must, type Release, ReleaseError, run } from './context.ts'
import { filesOf, readManifest } from './manifest.ts'
import { imageTags } from './versions.ts'

/** Container tools speak plain HTTP to this machine only. */
const isHere = (image: string) => /^(?:127\.0\.0\.1|localhost)(?::|\/)/.test(image)

/**
 * Uploads it under each of its tags; a tag that leads to it already is left alone.
 *
 * @throws where the registry refuses it, or has another image of this version
 */
export async function pushImage(release: Release): Promise<void> {
  const { out, version, names, env, print } = release
  const { image } = readManifest(release)
  filesOf(release, FOLDERS.image)
  const tags = imageTags(version)
  // For the step of the workflow that attests where the image is from.
  if (env.GITHUB_OUTPUT) appendFileSync(env.GITHUB_OUTPUT, `name=${names.image}\ndigest=${image.digest}\n`)
  if (release.dry) {
    for (const tag of tags) print(`would upload ${names.image}:${tag}, ${image.digest}`)
    return
  }
  const { REGISTRY_USER: user, REGISTRY_PASSWORD: password } = env
  const [registry = ''] = names.image.split('/')
  const plain = isHere(names.image)
  if (user && password)
    await must(['skopeo', 'login', registry, `--tls-verify=${!plain}`, '--username', user, '--password-stdin'], {
      env,
      stdin: password,
    })
  for (const tag of tags) {
    const reference = `docker://${names.image}:${tag}`
    const { code, stdout } = await run(['skopeo', 'inspect', `--tls-verify=${!plain}`, '--raw', reference], { env })
    const found = `sha256:${new Bun.CryptoHasher('sha256').update(stdout).digest('hex')}`
    if (tag === version && code === 0 && found !== image.digest)
      throw new ReleaseError(
        `${names.image}:${tag} is published with the digest ${found}, not ${image.digest}: release another version`,
      )
    if (found === image.digest) print(`${names.image}:${tag} is already uploaded`)
    else {
      const source = `oci:${join(out, FOLDERS.image)}:${version}`
      await must(['skopeo', 'copy', '--all', `--dest-tls-verify=${!plain}`, source, reference], { env })
      print(`uploaded ${names.image}:${tag}, ${image.digest}`)
    }
  }
}
