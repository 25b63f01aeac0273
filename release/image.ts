// The container image for both architectures, as an OCI image layout (OCI Image Format Specification 1.1). It is assembled here, without a
// container runtime, so its bytes and its digest depend on nothing but its files. It has what the last stage of the Dockerfile has.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type ArchiveEntry, archivedFile, gzip, tar } from '../src/build/archive.ts'
import { archiveOf, FOLDERS, type Release, ReleaseError, sha256, writePart } from './context.ts'
import { ARCHITECTURES, type Architecture, type Libraries, librariesFor } from './libraries.ts'

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
/** Media type of an image for several architectures. */
export const INDEX = 'application/vnd.oci.image.index.v1+json'
const CONFIG = 'application/vnd.oci.image.config.v1+json'
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip'

/** Annotation of an architecture: the Debian packages that its libraries are from. */
const LIBRARIES = 'understudy.libraries'

/** The user that the program runs as, and its group. */
const USER = 65532
const SECOND = 1_000_000_000

/** How the program is run. */
export const RUN = {
  User: `${USER}:${USER}`,
  ExposedPorts: { '8633/tcp': {} },
  Env: ['UNDERSTUDY_HOST=0.0.0.0', 'UNDERSTUDY_DB=/data/understudy.db', 'TMPDIR=/data'],
  Entrypoint: ['/understudy'],
  Cmd: ['serve'],
  Volumes: { '/data': {} },
  WorkingDir: '/data',
  StopSignal: 'SIGTERM',
  Healthcheck: {
    Test: ['CMD', '/understudy', 'health'],
    Interval: 10 * SECOND,
    Timeout: 3 * SECOND,
    StartPeriod: 10 * SECOND,
  },
} as const

/** A blob of the layout, as others refer to it. */
interface Descriptor {
  mediaType: string
  digest: string
  size: number
}

/** The image of one architecture. */
interface ArchitectureDescriptor extends Descriptor {
  platform: { architecture: Architecture; os: string }
  annotations: Record<string, string>
}

/** What is known of the image once it is assembled. */
export interface Image {
  /** Name and tag. */
  reference: string
  digest: string
  architectures: { architecture: Architecture; digest: string; libraries: readonly string[] }[]
}

/** How to assemble it. */
export interface ImageOptions {
  /** A folder with the libraries of each architecture; default: those of Debian 12, which are downloaded. */
  libraries?: string | undefined
  /** The commit that it is made from. */
  revision: string
}

/** Writes a blob; gives its descriptor. */
function blob(release: Release, mediaType: string, content: Uint8Array | string): Descriptor {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const digest = sha256(bytes)
  writePart(release, `${FOLDERS.image}/blobs/sha256/${digest}`, bytes)
  return { mediaType, digest: `sha256:${digest}`, size: bytes.length }
}

const labels = ({ version, names }: Release, revision: string) => ({
  'org.opencontainers.image.title': 'Understudy',
  'org.opencontainers.image.description':
    'A local stand-in for a model gateway and workspace API: offline, deterministic, in one executable.',
  'org.opencontainers.image.licenses': 'MIT',
  'org.opencontainers.image.version': version,
  'org.opencontainers.image.revision': revision,
  'org.opencontainers.image.source': `https://github.com/${names.repository}`,
})

/** What the program needs from its file system, apart from itself. */
const base = ({ files }: Libraries): ArchiveEntry[] => [
  ...files,
  // Else the C library asks a name server before it reads /etc/hosts.
  { path: 'etc/nsswitch.conf', bytes: new TextEncoder().encode('hosts: files dns\n') },
  { path: 'data/', bytes: new Uint8Array(), owner: USER },
]

/** Folders that are named by a path, each before what it contains. */
const parents = (entries: readonly ArchiveEntry[]): ArchiveEntry[] =>
  [
    ...new Set(
      entries.flatMap(({ path }) =>
        path
          .split('/')
          .slice(0, -1)
          .map((_, index, all) => all.slice(0, index + 1).join('/')),
      ),
    ),
  ]
    .map((path) => ({ path: `${path}/`, bytes: new Uint8Array() }))
    .filter(({ path }) => !entries.some((entry) => entry.path === path))

/** Assembles the image of one architecture; gives the descriptor of its manifest. */
async function assemble(
  release: Release,
  architecture: Architecture,
  libraries: Libraries,
  revision: string,
): Promise<ArchitectureDescriptor> {
  const { platform } = ARCHITECTURES[architecture]
  const archive = join(release.out, FOLDERS.assets, archiveOf(platform))
  const executable = await archivedFile(archive, `understudy-${platform}/understudy`)
  const files = base(libraries)
  const tars = [
    await tar([...parents(files), ...files]),
    await tar([{ path: 'understudy', bytes: executable, executable: true }]),
  ]
  const layers = tars.map((bytes) => blob(release, LAYER, gzip(bytes)))
  const config = {
    architecture,
    os: 'linux',
    config: { ...RUN, Labels: labels(release, revision) },
    rootfs: { type: 'layers', diff_ids: tars.map((bytes) => `sha256:${sha256(bytes)}`) },
  }
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: blob(release, CONFIG, JSON.stringify(config)),
    layers,
  }
  return {
    ...blob(release, MANIFEST, JSON.stringify(manifest)),
    platform: { architecture, os: 'linux' },
    annotations: { [LIBRARIES]: libraries.packages.join(', ') },
  }
}

/** Writes the image's layout. */
export async function writeImage(release: Release, { libraries, revision }: ImageOptions): Promise<void> {
  rmSync(join(release.out, FOLDERS.image), { recursive: true, force: true })
  const manifests: ArchitectureDescriptor[] = []
  for (const architecture of Object.keys(ARCHITECTURES) as Architecture[])
    manifests.push(await assemble(release, architecture, await librariesFor(architecture, libraries), revision))
  const index = { schemaVersion: 2, mediaType: INDEX, manifests, annotations: labels(release, revision) }
  const image = blob(release, INDEX, JSON.stringify(index))
  const named = { ...image, annotations: { 'org.opencontainers.image.ref.name': release.version } }
  writePart(release, `${FOLDERS.image}/oci-layout`, '{"imageLayoutVersion":"1.0.0"}')
  writePart(
    release,
    `${FOLDERS.image}/index.json`,
    JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [named] }),
  )
}

/** What an index of the layout lists. */
const listed = <Listed extends Descriptor>({ out }: Release, path: string): Listed[] =>
  (JSON.parse(readFileSync(join(out, FOLDERS.image, path), 'utf8')) as { manifests: Listed[] }).manifests

/**
 * The image that was written.
 *
 * @throws where there is none
 */
export function readImage(release: Release): Image {
  if (!existsSync(join(release.out, FOLDERS.image, 'index.json')))
    throw new ReleaseError(`${join(release.out, FOLDERS.image)} has no image: run npm run release -- image`)
  const digest = listed(release, 'index.json')[0]?.digest ?? ''
  const manifests = listed<ArchitectureDescriptor>(release, `blobs/${digest.replace(':', '/')}`)
  const architectures = manifests.map(({ digest, platform, annotations }) => ({
    architecture: platform.architecture,
    digest,
    libraries: annotations[LIBRARIES]?.split(', ') ?? [],
  }))
  return { reference: `${release.names.image}:${release.version}`, digest, architectures }
}
