// Brings the executable: from the tool cache, or a release whose archive has the checksum that it must have.
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { addPath, getInput, info } from '@actions/core'
import { cacheDir, downloadTool, extractTar, find } from '@actions/tool-cache'

/** What was installed. */
export interface Installed {
  executable: string
  version: string
}

const FILE = process.platform === 'win32' ? 'understudy.exe' : 'understudy'

/** Installs the executable that the inputs name, and puts it on the PATH. */
export async function install(): Promise<Installed> {
  const version = getInput('version').replace(/^v/, '') || ownVersion()
  const given = getInput('executable')
  const executable = given === '' ? join(await installedFolder(version), FILE) : resolve(given)
  if (!statSync(executable, { throwIfNoEntry: false })?.isFile())
    throw new Error(`there is no executable ${executable}`)
  addPath(dirname(executable))
  return { executable, version: given === '' ? version : '' }
}

/** That of the action: both are released together. */
function ownVersion(): string {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version
}

async function installedFolder(version: string): Promise<string> {
  const cached = find('understudy', version)
  if (cached !== '') {
    info(`Understudy ${version} is in the tool cache`)
    return cached
  }
  const platform = `${process.platform}-${process.arch}`
  const archive = `understudy-${platform}.tar.gz`
  const url = `${releaseUrl(version)}/${archive}`
  info(`installing Understudy ${version} from ${url}`)
  const file = await download(url)
  const wanted = getInput('checksum').toLowerCase() || (await listedChecksum(version, archive))
  const found = createHash('sha256').update(readFileSync(file)).digest('hex')
  if (found !== wanted) throw new Error(`${archive} has the SHA-256 ${found} and should have ${wanted}`)
  const folder = await extractTar(file)
  return cacheDir(join(folder, basename(archive, '.tar.gz')), 'understudy', version)
}

const download = (url: string): Promise<string> =>
  downloadTool(url).catch(({ message }: Error) => {
    throw new Error(`could not download ${url}: ${message}`)
  })

function releaseUrl(version: string): string {
  const given = getInput('download-url')
  if (given !== '') return given.replace(/\/$/, '')
  const { GITHUB_SERVER_URL: server = 'https://github.com', GITHUB_ACTION_REPOSITORY: repository } = process.env
  if (!repository) throw new Error("'download-url' is needed where the action does not come from a repository")
  return `${server}/${repository}/releases/download/v${version}`
}

async function listedChecksum(version: string, archive: string): Promise<string> {
  const list = readFileSync(await download(`${releaseUrl(version)}/SHA256SUMS`), 'utf8')
  const line = list.split('\n').find((one) => one.trim().endsWith(` ${archive}`))
  if (!line) throw new Error(`SHA256SUMS says nothing of ${archive}`)
  return line.trim().split(/\s+/)[0] ?? ''
}
