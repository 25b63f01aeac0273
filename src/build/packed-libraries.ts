// Bundles the libraries that few calls use, and makes the executable import those bundles (lib/packed-library.ts).
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { packedFile } from '../lib/packed-library.ts'

const root = join(import.meta.dir, '..', '..')

/** The libraries, by the names that they are imported with. */
const PACKED = ['unpdf']

/** Their compressed bundles, by path from the project's root. */
export async function packedLibraries(): Promise<Record<string, Uint8Array>> {
  const bundles = PACKED.map(async (name) => [packedFile(name), await bundle(name)] as const)
  return Object.fromEntries(await Promise.all(bundles))
}

async function bundle(name: string): Promise<Uint8Array> {
  const { success, logs, outputs } = await Bun.build({
    entrypoints: [Bun.resolveSync(name, root)],
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
      // Some names of exports are no names of variables.
      const names = Object.keys(await import(path))
      const library = JSON.stringify(join(root, 'src', 'lib', 'packed-library.ts'))
      const contents = [
        `import { packedLibrary } from ${library}`,
        `const library = await packedLibrary(${JSON.stringify(path)})`,
        ...names.map((name, index) => `const e${index} = library[${JSON.stringify(name)}]`),
        `export { ${names.map((name, index) => `e${index} as ${name}`)} }`,
      ].join('\n')
      return { contents, loader: 'js' }
    })
  },
}
