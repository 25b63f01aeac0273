// The software bill of materials (CycloneDX) of the executable: npm writes it from the lock file, and what npm cannot know is added.
import Database from 'better-sqlite3'
import { FOLDERS, must, type Release, readJson, sha256, writePart } from './context.ts'

/** Name of the file. */
export const SBOM = 'understudy.cdx.json'

interface Component {
  type: string
  name: string
  version: string
  purl?: string
  'bom-ref': string
  description?: string
  licenses?: { license: { id: string } }[]
  externalReferences?: { type: string; url: string }[]
}

/** The parts of a CycloneDX document that are read and changed here. */
export interface BillOfMaterials {
  serialNumber: string
  metadata: { timestamp: string; component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/** What is compiled into the executable and is no dependency of a package: the runtime, and the database within its driver. */
function embedded(release: Release): Component[] {
  const { devDependencies } = readJson(release, 'package.json') as { devDependencies: { bun: string } }
  const database = new Database(':memory:')
  const sqlite = String(database.prepare('select sqlite_version()').pluck().get())
  database.close()
  const license = (id: string) => [{ license: { id } }]
  const bun = `bun@${devDependencies.bun}`
  return [
    {
      ...{ type: 'platform', name: 'bun', version: devDependencies.bun, purl: `pkg:npm/${bun}`, 'bom-ref': bun },
      licenses: license('MIT'),
    },
    {
      ...{ type: 'library', name: 'sqlite', version: sqlite, 'bom-ref': `sqlite@${sqlite}` },
      licenses: license('blessing'),
      externalReferences: [{ type: 'website', url: 'https://sqlite.org' }],
    },
  ]
}

/** A UUID that depends on a text alone (RFC 9562, section 5.8). */
function uuidOf(text: string): string {
  const hex = sha256(text)
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

/**
 * What npm wrote, for the executable instead of the folder of the checkout, with what is embedded besides packages. Time and serial
 * number depend on the release alone.
 */
export function completed(
  bill: BillOfMaterials,
  { version, names }: Release,
  added: readonly Component[],
  timestamp: string,
): BillOfMaterials {
  const own = `understudy@${version}`
  const former = bill.metadata.component['bom-ref']
  const { description } = bill.metadata.component
  const repository = `https://github.com/${names.repository}`
  const component: Component = {
    ...{ type: 'application', name: 'understudy', version, purl: `pkg:github/${names.repository}@v${version}` },
    ...{ 'bom-ref': own, ...(description && { description }), licenses: [{ license: { id: 'MIT' } }] },
    externalReferences: [{ type: 'vcs', url: repository }],
  }
  const dependencies = bill.dependencies.map(({ ref, dependsOn }) =>
    ref === former
      ? { ref: own, dependsOn: [...dependsOn, ...added.map((one) => one['bom-ref'])] }
      : { ref, dependsOn },
  )
  return {
    ...bill,
    serialNumber: `urn:uuid:${uuidOf(`${repository} ${version} ${timestamp}`)}`,
    metadata: { ...bill.metadata, timestamp, component },
    components: [...bill.components, ...added],
    dependencies: [...dependencies, ...added.map((one) => ({ ref: one['bom-ref'], dependsOn: [] }))],
  }
}

/**
 * Without the packages that only development needs. `npm sbom --omit=dev` (11.19) would leave out those, too, that both need.
 *
 * @param lock the packages of the lock file, by their path
 */
export function withoutDevelopment(
  bill: BillOfMaterials,
  lock: Readonly<Record<string, { version?: string; dev?: boolean }>>,
): BillOfMaterials {
  const nameIn = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const shipped = new Set(
    Object.entries(lock).flatMap(([path, { version, dev }]) => (dev ? [] : [`${nameIn(path)}@${version}`])),
  )
  const components = bill.components.filter(({ name, version }) => shipped.has(`${name}@${version}`))
  const known = new Set([bill.metadata.component['bom-ref'], ...components.map((one) => one['bom-ref'])])
  const dependencies = bill.dependencies
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => known.has(one)) }))
  return { ...bill, components, dependencies }
}

/** Writes the bill of materials. */
export async function writeSbom(release: Release): Promise<void> {
  const { root: cwd, env } = release
  const command = ['npm', 'sbom', '--package-lock-only', '--sbom-format=cyclonedx']
  const { packages } = readJson(release, 'package-lock.json') as { packages: Record<string, { version?: string }> }
  const bill = withoutDevelopment(JSON.parse(await must(command, { cwd, env })), packages)
  const timestamp = new Date(await must(['git', 'log', '-1', '--format=%cI'], { cwd, env })).toISOString()
  const text = JSON.stringify(completed(bill, release, embedded(release), timestamp), null, 2)
  writePart(release, `${FOLDERS.assets}/${SBOM}`, `${text}\n`)
}
