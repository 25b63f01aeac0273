// Bundles the GitHub Action into the one file that runners start: packages/action/dist/index.js, which is kept in the repository,
// since runners take it from there.
import { join } from 'node:path'

const root = join(import.meta.dir, '..', '..')
/** The bundle in the repository. */
export const ACTION_BUNDLE = join(root, 'packages', 'action', 'dist', 'index.js')

/** The bundle that the source gives. */
export async function bundleAction(): Promise<string> {
  const result = await Bun.build({
    root,
    entrypoints: [join(root, 'packages', 'action', 'src', 'index.ts')],
    target: 'node',
    format: 'esm',
    minify: true,
    // Else the paths of this machine are in it; nothing that it is needed for is called.
    define: { __dirname: '"."' },
  })
  const [bundle] = result.outputs
  if (!result.success || !bundle) throw new AggregateError(result.logs, 'bundling the action failed')
  return bundle.text()
}

if (import.meta.main) {
  await Bun.write(ACTION_BUNDLE, await bundleAction())
  console.error('built packages/action/dist/index.js')
}
