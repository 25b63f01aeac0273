// Answers one call with one fixture file, and writes into `modules.txt` which modules were loaded for it, one a line: those of
// ours by their path, of a package its name and how many. Run from source, so that they have names.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { plugin } from 'bun'

const root = join(import.meta.dir, '..', '..', '..')
// Fixtures that ship are read from YAML where nothing is built; the executable has them as JSON (backends/fixture/shipped.ts), and
// compiled schemas (schema/parse.ts), which whoever starts this has put beside it.
const compiledSchemas = readFileSync('outlines.json', 'utf8')
plugin({
  name: 'as in the executable',
  setup(builder) {
    builder.onLoad({ filter: /[\\/]backends[\\/]fixture[\\/]shipped\.ts$/ }, () => ({
      contents: 'export const SHIPPED = ""\nexport const shippedFixtures = () => []',
      loader: 'ts',
    }))
    builder.onLoad({ filter: /[\\/]schema[\\/]embedded\.ts$/ }, () => ({
      contents: `export const embeddedSchema = (name) => JSON.parse((${compiledSchemas})[name] ?? 'null') ?? undefined`,
      loader: 'ts',
    }))
  },
})
mkdirSync('fixtures/chat.completions', { recursive: true })
writeFileSync('fixtures/chat.completions/hello.yaml', 'match: { user: Hello }\nreply: { content: Hello yourself! }\n')
const { runCli } = await import('../../../src/cli/index.ts')
const files = ['--db', 'understudy.db', '--fixtures', 'fixtures', '--ready-file', 'ready.json']
const { processIo } = await import('../../../src/cli/io.ts')
const io = processIo()
const ready = Promise.withResolvers<string>()
void runCli(['serve', '--json', '--port', '0', ...files], { ...io, stdout: { ...io.stdout, text: ready.resolve } })
const { url } = JSON.parse(await ready.promise) as { url: string }
const response = await fetch(`${url}/v2/router/chat/completions`, {
  method: 'POST',
  headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }),
})
if (!(await response.text()).includes('Hello yourself!')) throw new Error(`status ${response.status}`)
const paths = Object.keys(require.cache).map((path) => path.slice(root.length + 1).replaceAll('\\', '/'))
const own = paths.filter((path) => path.startsWith('src/'))
const packages = paths.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
const counted = Object.entries(Object.groupBy(packages, (name) => name)).map(([name, all]) => `${name}: ${all?.length}`)
writeFileSync('modules.txt', `${[...own.sort(), ...counted.sort()].join('\n')}\n`)
process.exit(0)
