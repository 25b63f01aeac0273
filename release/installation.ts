// Installs what was prepared for this platform as people do, each in an empty folder, and runs it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { executableOf, ownPlatform } from '../src/build/platforms.ts'
import { archiveOf, FOLDERS, must, type Release, ReleaseError } from './context.ts'
import { type LocalRegistry, startLocalRegistry } from './local-registry.ts'

const windows = process.platform === 'win32'

/** Package managers that are no part of this machine, with the packages that they come in. */
const DOWNLOADED = { pnpm: 'pnpm@10', yarn: 'yarn@1', 'yarn-berry': '@yarnpkg/cli-dist@4' } as const
/** The package managers that the packages are installed with. */
export const MANAGERS = ['npm', 'bun', ...(Object.keys(DOWNLOADED) as (keyof typeof DOWNLOADED)[])] as const
/** One of them. */
export type Manager = (typeof MANAGERS)[number]

/** What to try. */
export interface InstallationOptions {
  managers: readonly Manager[]
}

/**
 * Tries the archive and the npm packages of this platform.
 *
 * @throws where one of them cannot be installed, or does not run
 */
export async function checkInstallation(release: Release, { managers }: InstallationOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'understudy-installation-'))
  try {
    await checkArchive(release, folder)
    const registry = await startLocalRegistry(join(release.out, FOLDERS.packages))
    try {
      const tools = await toolsOf(release, managers, join(folder, 'tools'))
      for (const manager of managers) await checkPackages(release, manager, registry, tools, join(folder, manager))
    } finally {
      await registry.stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function checkArchive(release: Release, folder: string): Promise<void> {
  const archive = join(release.out, FOLDERS.assets, archiveOf(ownPlatform))
  await must(['tar', '-xzf', archive, '-C', folder], { env: release.env })
  const executable = join(folder, `understudy-${ownPlatform}`, executableOf(ownPlatform))
  await expectVersion(release, [executable], folder)
  await expectAnswer(executable, folder)
  release.print(`${archiveOf(ownPlatform)} runs`)
}

/** Installs the package managers that this machine lacks, from the registry that npm is set to. */
async function toolsOf(release: Release, managers: readonly Manager[], folder: string): Promise<string> {
  const needed = managers.flatMap((manager) => (manager in DOWNLOADED ? [manager as keyof typeof DOWNLOADED] : []))
  for (const manager of needed) {
    const target = join(folder, manager)
    mkdirSync(target, { recursive: true })
    writeFileSync(join(target, 'package.json'), '{"private":true}')
    await must([npm, 'install', '--no-audit', '--no-fund', DOWNLOADED[manager]], { cwd: target, env: release.env })
  }
  return folder
}

const npm = windows ? 'npm.cmd' : 'npm'

/** The command that adds a development dependency. */
function commandOf(manager: Manager, tools: string, url: string): string[] {
  const bin = (name: string) => join(tools, manager, 'node_modules', '.bin', windows ? `${name}.cmd` : name)
  switch (manager) {
    case 'npm':
      return [npm, 'install', '--save-dev', '--no-audit', '--no-fund', `--registry=${url}`]
    case 'bun':
      return [process.execPath, 'add', '--dev', `--registry=${url}`]
    case 'pnpm':
      return [bin('pnpm'), 'add', '--save-dev', `--registry=${url}`]
    case 'yarn':
      return [bin('yarn'), 'add', '--dev', '--non-interactive', '--registry', url]
    case 'yarn-berry':
      return [bin('yarn'), 'add', '--dev']
  }
}

async function checkPackages(
  release: Release,
  manager: Manager,
  { url }: LocalRegistry,
  tools: string,
  cwd: string,
): Promise<void> {
  const { version, names, print } = release
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'package.json'), '{"name":"project","private":true}')
  // Their caches stay in the folder that is removed; what else they read of the home is theirs.
  const home = join(cwd, 'home')
  mkdirSync(home)
  const env = {
    ...release.env,
    ...{ HOME: home, USERPROFILE: home, npm_config_cache: join(home, 'npm'), BUN_INSTALL_CACHE_DIR: join(home, 'bun') },
    ...{ YARN_CACHE_FOLDER: join(home, 'yarn'), YARN_NPM_REGISTRY_SERVER: url, YARN_ENABLE_TELEMETRY: '0' },
    // It would not install what was published today.
    YARN_NPM_MINIMAL_AGE_GATE: '0',
    ...{
      YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
      YARN_NODE_LINKER: 'node-modules',
      YARN_ENABLE_IMMUTABLE_INSTALLS: '0',
    },
  }
  // Else it takes a project of a folder above for its own.
  if (manager === 'yarn-berry') writeFileSync(join(cwd, 'yarn.lock'), '')
  const packages = ['cli', 'test'].map((name) => `${names.npmScope}/${name}@${version}`)
  await must([...commandOf(manager, tools, url), ...packages], { cwd, env })
  const command = join(cwd, 'node_modules', '.bin', windows ? 'understudy.cmd' : 'understudy')
  await expectVersion(release, [command], cwd)
  if (!windows) await expectAnswer(command, cwd)
  print(`${packages.join(' and ')} run after ${manager === 'bun' ? 'bun add' : `${manager} install`}`)
}

async function expectVersion(release: Release, command: readonly string[], cwd: string): Promise<void> {
  const printed = await must([...command, '--version'], { cwd, env: release.env })
  if (printed !== release.version)
    throw new ReleaseError(
      `${command.join(' ')} --version printed ${JSON.stringify(printed)}, expected ${release.version}`,
    )
}

/** A server of the executable answers a call, and stops when it is asked to. */
async function expectAnswer(command: string, cwd: string): Promise<void> {
  const child = Bun.spawn([command, 'serve', '--port', '0', '--json', '--db', ':memory:'], { cwd, stdout: 'pipe' })
  const { value } = await child.stdout.getReader().read()
  const { url } = JSON.parse(new TextDecoder().decode(value))
  const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] })
  const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
  const { status } = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
  child.kill()
  await child.exited
  if (status !== 200) throw new ReleaseError(`${command} answered a call with status ${status}`)
}
