// The examples in docstrings are true: each `@example` block of the source is run with the exports of its file in scope.
// A line ends in `// => value`, which is an expression too, or in `// throws TEXT`, a part of the message. Other lines prepare.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Glob, Transpiler } from 'bun'

const src = join(import.meta.dir, '..', '..', 'src')
const MIN_EXAMPLES = 40

interface Example {
  file: string
  line: number
  /** The line that declares what the docstring is of. */
  subject: string
  code: string[]
}

function examplesIn(file: string, text: string): Example[] {
  return [...text.matchAll(/\/\*\*(?:(?!\*\/)[\s\S])*?^ *\* @example\n((?: *\* ?(?!@|\/).*\n)+) *\*\/\n(.*)/gm)].map(
    (found) => {
      const [whole, block = '', subject = ''] = found
      const code = block
        .trimEnd()
        .split('\n')
        .map((line) => line.replace(/^ *\* ?/, ''))
      const before = text.slice(0, found.index + whole.indexOf(block))
      return { file, line: before.split('\n').length, subject, code }
    },
  )
}

const source = [...new Glob('**/*.ts').scanSync(src)]
  .sort()
  .map((file): [string, string] => [file, readFileSync(join(src, file), 'utf8')])
const examples = source.flatMap(([file, text]) => examplesIn(file, text))

const transpiler = new Transpiler({ loader: 'ts', target: 'bun' })
const AsyncFunction: new (...parts: string[]) => (...values: unknown[]) => Promise<void> = Object.getPrototypeOf(
  async () => {},
).constructor

/** One line as code that reports what it finds: `is(actual, expected, line)`. */
function instrumented(line: string, number: number): string {
  const [, name, from] = /^import \{ (.+) \} from '(.+)'$/.exec(line) ?? []
  if (name !== undefined) return `const { ${name} } = await load(${JSON.stringify(from)})`
  const [, expression = '', value = ''] = /^(.+?) +\/\/ => (.+)$/.exec(line) ?? []
  if (expression !== '') return `is(${expression}, ${value}, ${number});`
  const [, failing = '', message = ''] = /^(.+?) +\/\/ throws (.+)$/.exec(line) ?? []
  if (failing !== '') return `await fails(async () => ${failing}, ${JSON.stringify(message)}, ${number});`
  return line
}

/** Runs an example; gives what was wrong with it, and how many claims it makes. */
async function run({ file, line, code }: Example): Promise<{ wrong: string[]; claims: number }> {
  const path = join(src, file)
  const scope: Record<string, unknown> = await import(path)
  const wrong: string[] = []
  let claims = 0
  const note = (check: () => void, number: number) => {
    claims++
    try {
      check()
    } catch (error) {
      wrong.push(`src/${file}:${line + number}: ${code[number]}\n${(error as Error).message}`)
    }
  }
  const helpers = {
    load: (from: string) => import(from.startsWith('.') ? join(dirname(path), from) : from),
    is: (actual: unknown, expected: unknown, number: number) => note(() => expect(actual).toEqual(expected), number),
    fails: async (failing: () => Promise<unknown>, message: string, number: number) => {
      const outcome = await failing().then(
        () => 'nothing was thrown',
        ({ message }: Error) => message,
      )
      note(() => expect(outcome).toContain(message), number)
    },
  }
  const names = [...Object.keys(scope), ...Object.keys(helpers)]
  const typed = `export async function example() {\n${code.map(instrumented).join('\n')}\n}`
  const body = transpiler.transformSync(typed).replace(/^export async function example\(\) \{|\}\s*$/g, '')
  await new AsyncFunction(...names, body)(...Object.values(scope), ...Object.values(helpers))
  return { wrong, claims }
}

describe('docstring examples', () => {
  test('runner: finds a wrong value, a missing error and an unused block', async () => {
    const text =
      '/**\n * A list.\n * @example\n * asList([1]) // => [2]\n * asList(1) // throws text\n */\nexport const a = 1\n'
    const [example] = examplesIn('lib/values.ts', text)
    expect(example).toMatchObject({ line: 4, subject: 'export const a = 1' })
    const { wrong, claims } = example ? await run(example) : { wrong: [], claims: 0 }
    expect(claims).toBe(2)
    expect(wrong.map((one) => one.split('\n')[0])).toEqual([
      'src/lib/values.ts:4: asList([1]) // => [2]',
      'src/lib/values.ts:5: asList(1) // throws text',
    ])
  })

  test('source: every block is read, and belongs to an export', () => {
    const tags = source.reduce((sum, [, text]) => sum + text.split(' @example').length - 1, 0)
    expect(examples).toHaveLength(tags)
    expect(examples.filter(({ subject }) => !subject.startsWith('export '))).toEqual([])
    expect(examples.length).toBeGreaterThanOrEqual(MIN_EXAMPLES)
  })

  test.each(examples.map((example) => [`${example.file}:${example.line}`, example] as const))(
    '%s: is true',
    async (_, example) => {
      const { wrong, claims } = await run(example)
      expect(wrong).toEqual([])
      expect(claims).toBeGreaterThan(0)
    },
  )
})
