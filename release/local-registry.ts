// A registry of npm packages on this machine: it has the tarballs of a folder, and takes what is published. Nothing is asked of another one.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { archivedFile } from '../src/build/archive.ts'

interface Manifest {
  name: string
  version: string
}

/** A version of a package, as registries list it. */
interface Version extends Manifest {
  dist: { tarball: string; integrity: string }
}

interface Package {
  versions: Record<string, Version>
  'dist-tags': Record<string, string>
}

/** What npm sends to publish a package. */
interface Publication extends Package {
  name: string
  _attachments: Record<string, { data: string }>
}

/** A registry that answers. */
export interface LocalRegistry {
  url: string
  /** Names of packages that were requested and that it does not have. */
  missing: string[]
  /** Names and versions that were published, in this order. */
  published: string[]
  /** While it returns a message, a package of that name is refused with it. */
  refusal: (name: string) => string | undefined
  /** What it says of a package; undefined where it does not have it. */
  packageOf(name: string): Package | undefined
  stop(): Promise<void>
}

/** Starts a registry. */
export async function startLocalRegistry(folder?: string): Promise<LocalRegistry> {
  const packages = new Map<string, Package>()
  const tarballs = new Map<string, Uint8Array>()
  const add = (manifest: Manifest, tag: string, bytes: Uint8Array, origin: string) => {
    const file = `${manifest.name.replace('/', '-').replace('@', '')}-${manifest.version}.tgz`
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    const known = packages.get(manifest.name)
    tarballs.set(file, bytes)
    packages.set(manifest.name, {
      versions: {
        ...known?.versions,
        [manifest.version]: { ...manifest, dist: { tarball: `${origin}/-/${file}`, integrity } },
      },
      'dist-tags': { latest: manifest.version, ...known?.['dist-tags'], [tag]: manifest.version },
    })
  }
  const publish = async (request: Request, name: string): Promise<Response> => {
    const { versions, _attachments, 'dist-tags': tags } = (await request.json()) as Publication
    const [manifest] = Object.values(versions)
    const [attachment] = Object.values(_attachments)
    const [tag = 'latest'] = Object.keys(tags)
    if (!manifest || !attachment) return Response.json({ error: 'no version' }, { status: 400 })
    const refused = registry.refusal(name)
    if (refused !== undefined) return Response.json({ error: refused }, { status: 403 })
    if (packages.get(name)?.versions[manifest.version])
      return Response.json({ error: 'You cannot publish over the previously published versions' }, { status: 403 })
    add(manifest, tag, Buffer.from(attachment.data, 'base64'), new URL(request.url).origin)
    registry.published.push(`${name}@${manifest.version}`)
    return Response.json({ ok: true }, { status: 201 })
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    maxRequestBodySize: 1024 ** 3,
    async fetch(request) {
      const path = decodeURIComponent(new URL(request.url).pathname.slice(1))
      if (request.method === 'PUT') return publish(request, path)
      const tarball = path.startsWith('-/') ? tarballs.get(path.slice(2)) : undefined
      if (tarball) return new Response(new Uint8Array(tarball))
      const found = packages.get(path)
      if (found) return Response.json({ name: path, ...found })
      registry.missing.push(path)
      return Response.json({ error: 'not found' }, { status: 404 })
    },
  })
  const origin = `http://127.0.0.1:${server.port}`
  for (const file of folder === undefined ? [] : new Bun.Glob('*.tgz').scanSync(folder)) {
    const manifest = new TextDecoder().decode(await archivedFile(join(folder ?? '', file), 'package/package.json'))
    add(JSON.parse(manifest), 'latest', readFileSync(join(folder ?? '', file)), origin)
  }
  const registry: LocalRegistry = {
    url: `${origin}/`,
    missing: [],
    published: [],
    refusal: () => undefined,
    packageOf: (name) => packages.get(name),
    stop: () => server.stop(true),
  }
  return registry
}
