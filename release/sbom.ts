// The software bill of materials (CycloneDX 1.5) of the executable: what the build found in it, as npm describes the packages of the lock
// file, and what npm does not know, such as the runtime.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { NOTICES_FILE, type Notice } from '../src/cli/notices-file.ts'
import { FOLDERS, must, type Release, ReleaseError, sha256, writePart } from './context.ts'

/** Name of the file. */
export const SBOM = 'understudy.cdx.json'

interface Component {
  type: string
  name: string
  version?: string
  purl?: string
  'bom-ref': string
  description?: string
  licenses?: { license: { id: string } | { name: string } }[]
  externalReferences?: { type: string; url: string }[]
}

/** The parts of a CycloneDX document that are read and changed here. */
export interface BillOfMaterials {
  serialNumber: string
  metadata: { timestamp: string; component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/** What the build found in the executable: packages, and programs and libraries inside of them and of the runtime. */
function contents({ root }: Release): Pick<Notice, 'name' | 'version' | 'license'>[] {
  const file = join(root, NOTICES_FILE)
  try {
    const notices: Notice[] = JSON.parse(new TextDecoder().decode(Bun.gunzipSync(readFileSync(file))))
    // Texts of licenses that others refer to are no part of it.
    return notices.filter(({ name, license }) => name !== license)
  } catch (error) {
    throw new ReleaseError(`${file} cannot be read, run npm run release -- archives: ${error}`)
  }
}

/** The version of SQLite in the database driver. */
function sqliteVersion(): string {
  const database = new Database(':memory:')
  const version = String(database.prepare('select sqlite_version()').pluck().get())
  database.close()
  return version
}

/** A part that is no package of the lock file. */
function component({ name, version, license }: Pick<Notice, 'name' | 'version' | 'license'>): Component {
  const known = name === 'SQLite' ? sqliteVersion() : version
  return {
    type: name === 'Bun' ? 'platform' : 'library',
    name,
    ...(known !== null && { version: known }),
    'bom-ref': known === null ? name : `${name}@${known}`,
    licenses: [{ license: { name: license } }],
  }
}

/** A UUID that depends on a text alone (RFC 9562, section 5.8). */
function uuidOf(text: string): string {
  const hex = sha256(text)
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

/**
 * The document that npm wrote for the lock file, for the contents of the executable. Time and serial number depend on the release alone.
 *
 * @param timestamp an ISO 8601 time
 */
function forExecutable(
  bill: BillOfMaterials,
  { version, names }: Release,
  parts: readonly Pick<Notice, 'name' | 'version' | 'license'>[],
  timestamp: string,
): BillOfMaterials {
  const keyOf = (part: { name: string; version?: string | null }) => `${part.name}@${part.version}`
  const found = new Set(parts.map(keyOf))
  const packages = bill.components.filter((one) => found.has(keyOf(one)))
  const described = new Set(packages.map(keyOf))
  const others = parts.filter((part) => !described.has(keyOf(part))).map(component)
  const refs = new Set(packages.map((one) => one['bom-ref']))
  const links = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn.filter((one) => refs.has(one))]))
  const own = `understudy@${version}`
  const repository = `https://github.com/${names.repository}`
  const { description } = bill.metadata.component
  // A package of npm that is only bundled, such as one of the documentation site, hangs on nothing else that is.
  const linked = new Set([...refs].flatMap((ref) => links.get(ref) ?? []))
  const direct = [...(links.get(bill.metadata.component['bom-ref']) ?? []), ...others.map((one) => one['bom-ref'])]
  const roots = [...new Set([...direct, ...[...refs].filter((ref) => !linked.has(ref))])]
  return {
    ...bill,
    serialNumber: `urn:uuid:${uuidOf(`${repository} ${version} ${timestamp}`)}`,
    metadata: {
      ...bill.metadata,
      timestamp,
      component: {
        ...{ type: 'application', name: 'understudy', version, purl: `pkg:github/${names.repository}@v${version}` },
        ...{ 'bom-ref': own, ...(description && { description }), licenses: [{ license: { id: 'MIT' } }] },
        externalReferences: [{ type: 'vcs', url: repository }],
      },
    },
    components: [...packages, ...others],
    dependencies: [
      { ref: own, dependsOn: roots },
      ...[...refs].map((ref) => ({ ref, dependsOn: links.get(ref) ?? [] })),
      ...others.map((one) => ({ ref: one['bom-ref'], dependsOn: [] })),
    ],
  }
}

/** The packages of two lock files; those of the first, where both have one. */
function merged(bill: BillOfMaterials, other: BillOfMaterials): BillOfMaterials {
  const known = new Set(bill.components.map((one) => one['bom-ref']))
  return {
    ...bill,
    components: [...bill.components, ...other.components.filter((one) => !known.has(one['bom-ref']))],
    dependencies: [...bill.dependencies, ...other.dependencies.filter(({ ref }) => !known.has(ref))],
  }
}

/** Writes the bill of materials. */
export async function writeSbom(release: Release): Promise<void> {
  const { root: cwd, env } = release
  // All packages: with --omit=dev, npm 11.19 leaves out what development needs, too. Those of the documentation site are in tools/.
  const described = await Promise.all(
    [cwd, join(cwd, 'tools')].map((folder) =>
      must(['npm', 'sbom', '--package-lock-only', '--sbom-format=cyclonedx'], { cwd: folder, env }),
    ),
  )
  const [bill, tools] = described.map((text): BillOfMaterials => JSON.parse(text))
  if (!bill || !tools) return
  const timestamp = new Date(await must(['git', 'log', '-1', '--format=%cI'], { cwd, env })).toISOString()
  const written = forExecutable(merged(bill, tools), release, contents(release), timestamp)
  writePart(release, `${FOLDERS.assets}/${SBOM}`, `${JSON.stringify(written, null, 2)}\n`)
}
