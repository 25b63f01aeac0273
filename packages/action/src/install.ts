// Brings the executable: from an archive of the tool cache or of a release, either with the checksum that it must have.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { addPath, getInput, info, warning } from '@actions/core'
import { cacheFile, downloadTool, extractTar, find } from '@actions/tool-cache'

/** What was installed. */
export interface Installed {
  executable: string
  version: string
}

/** Its name in the tool cache: earlier versions of the action kept folders as `understudy`, which nobody can check. */
const TOOL = 'understudy-archive'
const FILE = process.platform === 'win32' ? 'understudy.exe' : 'understudy'

/** Installs the executable that the inputs name, and puts it on the PATH. */
export async function install(): Promise<Installed> {
  const version = getInput('version').replace(/^v/, '') || ownVersion()
  const given = getInput('executable')
  const executable = given === '' ? join(await installedFolder(version), FILE) : resolve(given)
  if (!statSync(executable, { throwIfNoEntry: false })?.isFile())
    throw new Error(`the executable ${executable} does not exist`)
  addPath(dirname(executable))
  return { executable, version: given === '' ? version : '' }
}

/** That of the action: both are released together. */
function ownVersion(): string {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version
}

/** The folder of the executable, unpacked of an archive that has been checked: what is in the tool cache may have been changed. */
async function installedFolder(version: string): Promise<string> {
  const archive = `understudy-${process.platform}-${process.arch}.tar.gz`
  const file = cachedArchive(version, archive) ?? (await downloadedArchive(version, archive))
  return join(await extractTar(file), basename(archive, '.tar.gz'))
}

/** The archive in the tool cache, where it has the checksum that the workflow names; one that names none takes what is there. */
function cachedArchive(version: string, archive: string): string | undefined {
  const folder = find(TOOL, version)
  const file = join(folder, archive)
  if (folder === '' || !existsSync(file)) return undefined
  const wanted = namedChecksum()
  const found = checksumOf(file)
  if (wanted === '' || found === wanted) {
    info(`Understudy ${version} is in the tool cache`)
    return file
  }
  warning(`the SHA-256 of ${archive} in the tool cache must be ${wanted}, got ${found}: downloading it again`)
  return undefined
}

async function downloadedArchive(version: string, archive: string): Promise<string> {
  const url = `${releaseUrl(version)}/${archive}`
  info(`installing Understudy ${version} from ${url}`)
  const file = await download(url)
  const wanted = namedChecksum() || (await listedChecksum(version, archive))
  const found = checksumOf(file)
  if (found !== wanted) throw new Error(`the SHA-256 of ${archive} must be ${wanted}, got ${found}`)
  await cacheFile(file, archive, TOOL, version)
  return file
}

const checksumOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')

/** The checksum that the workflow names; empty when it names none. */
const namedChecksum = () => getInput('checksum').trim().toLowerCase()

const download = (url: string): Promise<string> =>
  downloadTool(url).catch(({ message }: Error) => {
    throw new Error(`could not download ${url}: ${message}`)
  })

function releaseUrl(version: string): string {
  const given = getInput('download-url')
  if (given !== '') return given.replace(/\/$/, '')
  const { GITHUB_SERVER_URL: server = 'https://github.com', GITHUB_ACTION_REPOSITORY: repository } = process.env
  if (!repository) throw new Error("'download-url' is required when the action does not come from a repository")
  return `${server}/${repository}/releases/download/v${version}`
}

async function listedChecksum(version: string, archive: string): Promise<string> {
  const list = readFileSync(await download(`${releaseUrl(version)}/SHA256SUMS`), 'utf8')
  const line = list.split('\n').find((one) => one.trim().endsWith(` ${archive}`))
  if (!line) throw new Error(`SHA256SUMS does not list ${archive}`)
  return line.trim().split(/\s+/)[0]?.toLowerCase() ?? ''
}
