// The shape of the source: which way imports point, where time, chance, the environment and the console may be used, and how tests are
// titled.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { Glob } from 'bun'

const src = join(import.meta.dir, '..', '..', 'src')
const files = [...new Glob('**/*.{ts,tsx,mjs}').scanSync(src)].sort()
const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]))
const textOf = (file: string) => texts.get(file) ?? ''
const codes = new Map<string, string>()
/** Code without comments and without what stands in texts. */
const codeOf = (file: string) => codes.getOrInsertComputed(file, () => withoutTexts(textOf(file)))
const withoutTexts = (text: string) =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/(^|\s)\/\/.*$/gm, '$1')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''")

/** From the top to the bottom: a file may import what stands below its own row, or stands in its own folder. */
const LAYERS = [
  ['main'],
  ['cli'],
  ['deps'],
  ['config'],
  ['app'],
  ['access'],
  ['compat'],
  ['exploration', 'drift', 'evidence'],
  ['agents'],
  ['endpoints', 'resources', 'control', 'inspector', 'docs'],
  ['gateway', 'views', 'telemetry'],
  ['verdict', 'observers'],
  ['scenarios'],
  ['backends', 'faults'],
  ['answers'],
  ['sessions'],
  ['workers'],
  ['cassettes'],
  ['providers', 'db'],
  ['guardrails'],
  ['schema'],
  ['contract'],
  ['lib', 'version'],
]
const partOf = (file: string) => file.split('/')[0]?.replace(/\.tsx?$/, '') ?? ''
const layerOf = (file: string) => LAYERS.findIndex((layer) => layer.includes(partOf(file)))
// What compiles the program is no part of it.
const program = files.filter((file) => partOf(file) !== 'build')

interface Import {
  file: string
  from: string
}
const imports = program.flatMap((file): Import[] =>
  [...textOf(file).matchAll(/(?:\bfrom |\bimport\(|\brequire\(|^import )'([^']+)'/gm)].map(([, from = '']) => ({
    file,
    from,
  })),
)
const own = imports
  .filter(({ from }) => from.startsWith('.'))
  .map(({ file, from }) => ({ file, from: normalize(join(dirname(file), from)) }))
const packages = imports.filter(({ from }) => !from.startsWith('.'))

/** The groups of files that reach each other (Tarjan's strongly connected components), those of one file left out. */
function circlesOf(edges: readonly Import[]): string[][] {
  const targets = Map.groupBy(edges, ({ file }) => file)
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const visit = (file: string) => {
    const number = index.size
    index.set(file, number)
    low.set(file, number)
    stack.push(file)
    for (const { from } of targets.get(file) ?? []) {
      if (!index.has(from)) visit(from)
      if (stack.includes(from)) low.set(file, Math.min(low.get(file) ?? 0, low.get(from) ?? 0))
    }
    if (low.get(file) !== number) return
    const circle = stack.splice(stack.indexOf(file))
    if (circle.length > 1) circles.push(circle)
  }
  for (const file of targets.keys()) if (!index.has(file)) visit(file)
  return circles
}

describe('imports', () => {
  test('have a layer for every part of the source', () => {
    expect(program.filter((file) => layerOf(file) < 0)).toEqual([])
    expect(own.length).toBeGreaterThan(100)
  })

  test('point downwards or stay in their folder', () => {
    const upwards = own.filter(
      ({ file, from }) =>
        !from.endsWith('package.json') && partOf(file) !== partOf(from) && layerOf(from) <= layerOf(file),
    )
    expect(upwards).toEqual([])
  })

  test('have no cycles, not even inside a folder', () => {
    expect(circlesOf(own)).toEqual([])
    const circle = circlesOf([
      { file: 'a', from: 'b' },
      { file: 'b', from: 'c' },
      { file: 'c', from: 'a' },
    ])
    expect(circle.flat().sort()).toEqual(['a', 'b', 'c'])
  })

  const homes: [string, RegExp, RegExp][] = [
    ['the HTTP framework', /^@?elysia/, /^(app|docs\/|endpoints\/)/],
    ['the database driver', /^better-sqlite3/, /^db\/open\.ts$/],
    ['the query builder', /^drizzle-orm/, /^db\//],
    ['the reader of the command line', /^commander/, /^cli\//],
  ]
  test.each(homes)('use %s only in its own place', (_, name, home) => {
    const users = packages.filter(({ from }) => name.test(from)).map(({ file }) => file)
    expect(users).not.toEqual([])
    expect(users.filter((file) => !home.test(file))).toEqual([])
  })

  // The streams that `node:zlib` loads took a tenth of a start, and zod as much.
  test('lead from serve and a chat completion only to libraries that every start needs', () => {
    const transpiler = new Bun.Transpiler({ loader: 'ts' })
    const [seen, found] = [new Set<string>(), new Set<string>()]
    const visit = (file: string) => {
      if (seen.has(file)) return
      seen.add(file)
      for (const { kind, path } of transpiler.scanImports(textOf(file))) {
        if (kind !== 'import-statement') continue
        if (path.endsWith('.ts')) visit(normalize(join(dirname(file), path)))
        else if (!path.startsWith('.')) found.add(path)
      }
    }
    for (const entry of ['main.ts', 'cli/commands/serve.ts', 'endpoints/chat-completions.ts', 'compat/openai.ts'])
      visit(entry)
    const runtime = ['bun:jsc', 'node:fs', 'node:fs/promises', 'node:os', 'node:path']
    const libraries = [
      'better-sqlite3',
      'commander',
      'eventsource-parser',
      'gpt-tokenizer/encodingParams/constants',
      'mustache',
    ]
    expect([...found].filter((name) => !runtime.includes(name) && !libraries.includes(name))).toEqual([])
  })

  /** Modules that a file requires without their types: whatever is taken from one of them is `any`. */
  const untyped = (source: string) => {
    const typed = /lazy<typeof import\('([^']+)'\)>\(\s*\(\) =>\s*require\('\1'\),?\s*\)/g
    return [...source.replace(typed, '').matchAll(/\brequire\('([^']+)'\)/g)].map(([, from]) => from)
  }
  test('are typed where they are lazy: a misspelled export does not compile', () => {
    expect(untyped("lazy<typeof import('./a.ts')>(() => require('./a.ts')); () => require('./b.ts').b")).toEqual([
      './b.ts',
    ])
    expect(untyped("lazy<typeof import('./a.ts')>(() => require('./b.ts'))")).toEqual(['./b.ts'])
    const found = program.flatMap((file) => untyped(textOf(file)).map((from) => `${file} ${from}`))
    expect(found).toEqual([])
  })

  test('are by name, and nothing is exported as a default', () => {
    expect(program.filter((file) => /^export default/m.test(codeOf(file)))).toEqual([])
  })
})

/** What may stand only in some files, and an example of it that must be found: the rule can fail. */
const RULES: [string, RegExp, RegExp, string][] = [
  [
    'time',
    /\bDate\.now\b|\bnew Date\(\)|\bset(?:Timeout|Interval)\b|\bperformance\.now\b|\bBun\.(?:sleep|nanoseconds)|\bprocess\.(?:hrtime|uptime)/,
    /^(lib|build)\/|^workers\/pool\.ts$|^inspector\/page\//,
    'const started = Date.now()',
  ],
  [
    'chance',
    /\bMath\.random\b|\bcrypto\.(?:random|getRandom)|\brandom(?:UUID|Bytes|Int)\b/i,
    /^(lib|build)\//,
    'crypto.randomUUID()',
  ],
  // What prints escapes what others have written, and knows a stream that it was given.
  [
    'the console',
    /^(?!\s*['"]).*(?:\bconsole\.|\bprocess\.std(?:in|out|err)\b|\bBun\.std(?:in|out|err)|\bwriteSync\b)/m,
    /^cli\/(io|print\/line-writer)\.ts$|^build\/|^inspector\/page\//,
    'console.log(1)',
  ],
  ['the environment', /\bprocess\.env\b/, /^cli\/io\.ts$|^build\//, 'process.env.HOME'],
  [
    'the signals and arguments of the process',
    /\bprocess\.(?:on|once|off|argv)\b/,
    /^main\.ts$|^cli\/(run\/stop-signals|print\/line-writer)\.ts$|^build\//,
    "process.on('SIGINT', stop)",
  ],
  [
    'a request to another server',
    /(?:\bawait|\breturn|=>?|[?:(]) fetch\(/,
    // What the control API shows of code that repeats a call is text.
    /^(lib\/direct-fetch|control\/reproduce)\.ts$|^inspector\/page\//,
    'const response = await fetch(url)',
  ],
  ['the end of the process', /\bprocess\.exit(?:Code)?\b/, /^main\.ts$|^build\//, 'process.exit(1)'],
]
test.each(RULES)('source: uses %s only in its own place', (_, rule, home, example) => {
  expect(rule.test(example)).toBe(true)
  expect(files.filter((file) => !home.test(file) && rule.test(codeOf(file)))).toEqual([])
  expect(files.some((file) => home.test(file) && rule.test(codeOf(file)))).toBe(true)
})

test('source file: begins with its purpose', () => {
  expect(files.filter((file) => !textOf(file).startsWith('// '))).toEqual([])
})

/** Exported names that stand in more than one file, with those files. */
function doubledExports(sources: readonly [file: string, code: string][]): string[] {
  const exported = sources.flatMap(([file, code]) =>
    [...code.matchAll(/^export (?:async )?(?:interface|type|class|enum|const|function\*?) ([\w$]+)/gm)].map(
      ([, name = '']) => ({ name, file }),
    ),
  )
  return [...Map.groupBy(exported, ({ name }) => name)]
    .map(([name, all]) => [name, ...new Set(all.map(({ file }) => file))])
    .filter((row) => row.length > 2)
    .map((row) => row.join(' '))
}

test('exported names: are unique', () => {
  expect(
    doubledExports([
      ['a', 'export const x = 1'],
      ['b', 'export interface x {}'],
    ]),
  ).toEqual(['x a b'])
  expect(doubledExports(program.map((file) => [file, codeOf(file)]))).toEqual([])
})

/** Exports without a docstring, as `line name`. A constant and the type of its name, or overloads, share one. */
function exportsWithoutDocstring(text: string): string[] {
  const all = text.split('\n')
  const declaration =
    /^export (?:async )?(?:interface|type|class|enum|const|function\*?) ([\w$]+|\[[^\]]+\]|\{[^}]+\})(?!.* from )/
  const exported = all.flatMap((line, index) => {
    const [, name] = declaration.exec(line) ?? []
    if (name === undefined) return []
    const begins = all.slice(0, index).findLast((before) => /^\s*\/\*/.test(before)) ?? ''
    const documented = /\*\/\s*$/.test(all[index - 1] ?? '') && /^\s*\/\*\*/.test(begins)
    return [{ line: index + 1, name, documented }]
  })
  return [...Map.groupBy(exported, ({ name }) => name).values()]
    .filter((same) => !same.some(({ documented }) => documented))
    .map(([first]) => `${first?.line} ${first?.name}`)
}

test('exports: have a docstring', () => {
  const sample = '/** A. */\nexport const a = 1\nexport type a = 1\n/* B. */\nexport class b {}\nexport const c = 1'
  expect(exportsWithoutDocstring(sample)).toEqual(['5 b', '6 c'])
  const found = files.flatMap((file) => exportsWithoutDocstring(textOf(file)).map((one) => `${file}:${one}`))
  expect(found).toEqual([])
})

const tests = join(src, '..', 'test')
/** The text of every test file, but for one that writes tests for other runners. */
const testFiles = [...new Glob('**/*.test.ts').scanSync(tests)]
  .filter((file) => file !== 'slow/packages-runners.test.ts')
  .sort()
  .map((file): [file: string, text: string] => [file, readFileSync(join(tests, file), 'utf8')])

/** The titles in calls of `test`, `property` and `describe`, of their variants and of the tables of `each`. */
const titlesIn = (text: string): string[] => {
  const title =
    /(?:(?<!\.)\b(?:test|property|describe)(?:\.\w+)*|\))\(\s*(?:'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`)/g
  return [...text.matchAll(title)].map((match) => (match[1] ?? match[2] ?? match[3] ?? '').replace(/\$\{[^}]*\}/g, ''))
}

/** The titles of tests outside of every `describe`: those of statements that begin a line. */
function outerTitlesIn(text: string): string[] {
  let statement = ''
  return text.split(/\n(?=\S)/).flatMap((part) => {
    // The end of a table belongs to the statement that begins with it.
    if (!/^[\])}]/.test(part)) statement = part
    return /^(?:test|property)\b/.test(statement) ? titlesIn(part).slice(0, 1) : []
  })
}

/** Words that a reader of a failing report would have to look up; `docs/glossary.md` has those to use. */
const OLD_WORDS =
  /\b(?:bad day|(?:is|are) none|there (?:is|are) not|made up|quiet run|doors?|stray|nobody|whoever|somebody|anew|goes on|innocent|guilty|held|told|heard|hears|said)\b/i

describe('test titles', () => {
  test('name their subject where no describe does', () => {
    const sample =
      "test('lone', f)\ntest.each([\n  ['a'],\n])('s: %s', f)\ndescribe('s', () => {\n  test('does x', f)\n})\n"
    expect(outerTitlesIn(sample)).toEqual(['lone', 's: %s'])
    const found = testFiles.flatMap(([file, text]) => outerTitlesIn(text).map((title) => `${file} ${title}`))
    expect(found.length).toBeGreaterThan(500)
    expect(found.filter((one) => !one.includes(': '))).toEqual([])
  })

  test('have no words of the old dialect', () => {
    expect(titlesIn('describe("a", () => { test.each(rows)(`b`, f) })')).toEqual(['a', 'b'])
    expect(OLD_WORDS.test('on a bad day')).toBe(true)
    const found = testFiles.flatMap(([file, text]) => titlesIn(text).map((title) => `${file} ${title}`))
    expect(found.filter((one) => OLD_WORDS.test(one))).toEqual([])
  })
})

/** The left column of the list of names in CONTRIBUTING.md. */
const oldNames = [
  ...(readFileSync(join(src, '..', 'CONTRIBUTING.md'), 'utf8')
    .split('\n## ')
    .find((part) => part.startsWith('Names\n'))
    ?.matchAll(/^\| ((?:`\w+`(?:, )?)+)/gm) ?? []),
].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, word = '']) => word))

/** The words that a name is made of. */
const wordsIn = (name: string) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z]+/)
    .map((word) => word.toLowerCase())
const hasOldWord = (name: string) => wordsIn(name).some((word) => oldNames.includes(word))

describe('names have no words of the old dialect', () => {
  const root = join(src, '..')
  test('list: is read from CONTRIBUTING.md', () => {
    expect(oldNames).toContain('stray')
    expect(oldNames.length).toBeGreaterThan(25)
    expect(['strayCalls', 'cell-look', '--play', 'at_ways'].filter(hasOldWord)).toHaveLength(4)
  })

  test('exported names', () => {
    const exported = files.flatMap((file) =>
      [...codeOf(file).matchAll(/^export (?:async )?(?:const|function\*?|class|type|interface) (\w+)/gm)].map(
        ([, name = '']) => `${file} ${name}`,
      ),
    )
    expect(exported.length).toBeGreaterThan(2_000)
    expect(exported.filter((one) => hasOldWord(one.split(' ')[1] ?? ''))).toEqual([])
  })

  test('files', () => {
    const named = ['src', 'test', 'docs', 'scenarios', 'fixtures', 'packages/test', 'packages/cli', 'bench'].flatMap(
      (folder) => [...new Glob('**/*').scanSync(join(root, folder))].filter((path) => !path.includes('node_modules')),
    )
    expect(named.filter((path) => hasOldWord(path.split('/').at(-1) ?? ''))).toEqual([])
  })

  test('flags, settings, JSON keys and headers of the reference', () => {
    const folder = join(root, 'docs', 'reference')
    const found = [...new Glob('*.md').scanSync(folder)].flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/^\|? ?`([^`\n]+)`/gm)].map(
        ([, name = '']) => `${file} ${name}`,
      ),
    )
    expect(found.length).toBeGreaterThan(300)
    expect(found.filter((one) => hasOldWord(one.slice(one.indexOf(' '))))).toEqual([])
  })
})
