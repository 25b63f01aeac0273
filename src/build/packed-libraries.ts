// Bundles the libraries that few calls use, and makes the executable import those bundles (lib/packed-library.ts).
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { packedFile } from '../lib/packed-library.ts'

const root = join(import.meta.dir, '..', '..')

/** The libraries, by the names that they are imported with. */
const PACKED = ['mammoth', 'node-html-markdown', 'unpdf']

/** Their compressed bundles, by path from the project's root; `plugins` see their modules. */
export async function packedLibraries(plugins: Bun.BunPlugin[]): Promise<Record<string, Uint8Array>> {
  const bundles = PACKED.map(async (name) => [packedFile(name), await bundle(name, plugins)] as const)
  return Object.fromEntries(await Promise.all(bundles))
}

/** The names that a library exports, without those that only `import()` has for CommonJS ("module.exports"). */
const exportsOf = async (library: string): Promise<string[]> =>
  Object.keys(await import(library)).filter((name) => /^[\w$]+$/.test(name))

async function bundle(name: string, plugins: Bun.BunPlugin[]): Promise<Uint8Array> {
  const entry = join(root, 'library.js')
  const { success, logs, outputs } = await Bun.build({
    plugins,
    entrypoints: [entry],
    files: { [entry]: `export { ${await exportsOf(name)} } from ${JSON.stringify(name)}` },
    target: 'bun',
    minify: { whitespace: true, syntax: true },
    // As in the executable (build.ts).
    define: { __dirname: '"."', __filename: '"."' },
  })
  const [code, ...others] = outputs
  if (!success || !code || others.length > 0) throw new AggregateError(logs, `${name} could not be bundled`)
  return new Uint8Array(gzipSync(await code.text(), { level: 9 }))
}

/** A plugin of the executable's bundler: modules with the same exports stand in for the libraries. */
export const unpacking: Bun.BunPlugin = {
  name: 'unpacking',
  setup(builder) {
    const filter = new RegExp(`^(?:${PACKED.join('|')})$`)
    builder.onResolve({ filter }, ({ path }) => ({ path, namespace: 'packed' }))
    builder.onLoad({ filter: /.*/, namespace: 'packed' }, async ({ path }) => {
      const names = await exportsOf(path)
      const module = JSON.stringify(join(root, 'src', 'lib', 'packed-library.ts'))
      const contents = [
        `import { packedLibrary } from ${module}`,
        `const library = await packedLibrary(${JSON.stringify(path)})`,
        ...names.map((name, index) => `const e${index} = library.${name}`),
        `export { ${names.map((name, index) => `e${index} as ${name}`)} }`,
      ].join('\n')
      return { contents, loader: 'js' }
    })
  },
}
