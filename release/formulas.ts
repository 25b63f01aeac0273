// How other package managers install the archives of a release: a formula of Homebrew and a manifest of Scoop.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { archiveOf, FOLDERS, type Release, sha256, writePart } from './context.ts'

const DESCRIPTION = 'Local model gateway emulator that injects provider failures'

/** Where an archive is downloaded from, and what it must be. */
interface Download {
  url: string
  hash: string
}

/** The download of a platform's archive. */
function downloadOf(release: Release, platform: string): Download {
  const archive = archiveOf(platform)
  const url = `https://github.com/${release.names.repository}/releases/download/${release.tag}/${archive}`
  return { url, hash: sha256(readFileSync(join(release.out, FOLDERS.assets, archive))) }
}

/** The formula of Homebrew (Formula Cookbook), for macOS and Linux. */
export function homebrewFormula(release: Release): string {
  const block = (kind: string, platform: string) => {
    const { url, hash } = downloadOf(release, platform)
    return [`    on_${kind} do`, `      url "${url}"`, `      sha256 "${hash}"`, '    end']
  }
  return [
    'class Understudy < Formula',
    `  desc "${DESCRIPTION}"`,
    `  homepage "${release.names.homepage}"`,
    `  version "${release.version}"`,
    '  license "MIT"',
    '',
    '  on_macos do',
    ...block('arm', 'darwin-arm64'),
    ...block('intel', 'darwin-x64'),
    '  end',
    '',
    '  on_linux do',
    ...block('arm', 'linux-arm64'),
    ...block('intel', 'linux-x64'),
    '  end',
    '',
    '  def install',
    '    bin.install "understudy"',
    '  end',
    '',
    '  test do',
    '    assert_match version.to_s, shell_output("#{bin}/understudy --version")',
    '  end',
    'end',
    '',
  ].join('\n')
}

/** The manifest of Scoop (App Manifests), for Windows. */
export function scoopManifest(release: Release): object {
  const architecture = (platform: string) => ({
    ...downloadOf(release, platform),
    extract_dir: archiveOf(platform).replace('.tar.gz', ''),
  })
  return {
    version: release.version,
    description: DESCRIPTION,
    homepage: release.names.homepage,
    license: 'MIT',
    architecture: { '64bit': architecture('win32-x64'), arm64: architecture('win32-arm64') },
    bin: 'understudy.exe',
  }
}

/** Writes both files: `understudy.rb` and `understudy.json`. */
export async function writeFormulas(release: Release): Promise<void> {
  writePart(release, `${FOLDERS.assets}/understudy.rb`, homebrewFormula(release))
  writePart(release, `${FOLDERS.assets}/understudy.json`, `${JSON.stringify(scoopManifest(release), null, 2)}\n`)
}
