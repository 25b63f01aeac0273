// A registry of npm packages on this machine that has the tarballs of a folder, and nothing else.
import { join } from 'node:path'

interface Manifest {
  name: string
  version: string
}

/** A registry that answers. */
export interface Registry {
  url: string
  /** Names of packages that were asked for and that it does not have. */
  missing: string[]
  stop(): Promise<void>
}

/** Serves the tarballs of a folder. */
export function startRegistry(folder: string): Registry {
  const missing: string[] = []
  const tarballs = [...new Bun.Glob('*.tgz').scanSync(folder)].map((file) => ({
    file,
    manifest: manifestIn(join(folder, file)),
  }))
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch({ url }) {
      const path = decodeURIComponent(new URL(url).pathname.slice(1))
      const tarball = tarballs.find(({ file }) => path === file)
      if (tarball) return new Response(Bun.file(join(folder, path)))
      const found = tarballs.find(({ manifest }) => manifest.name === path)
      if (found) return Response.json(packument(found, new URL(url).origin))
      missing.push(path)
      return Response.json({ error: 'not found' }, { status: 404 })
    },
  })
  return { url: `http://127.0.0.1:${server.port}/`, missing, stop: () => server.stop(true) }
}

function manifestIn(tarball: string): Manifest {
  return JSON.parse(Bun.spawnSync(['tar', '-xzOf', tarball, 'package/package.json']).stdout.toString())
}

/** What a registry says of a package that has one version. */
function packument({ file, manifest }: { file: string; manifest: Manifest }, origin: string) {
  const { name, version } = manifest
  const versions = { [version]: { ...manifest, dist: { tarball: `${origin}/${file}` } } }
  return { name, 'dist-tags': { latest: version }, versions }
}
