// Files in YAML or JSON, read strictly, with the position of every mistake.

import type { Problem } from '../contract/core/problem.ts'
import { printableLine } from '../lib/printable.ts'
import { halfCharacterIn, halfCharacterProblem, mayHoldHalf } from '../lib/well-formed.ts'
import { type Yaml, yaml } from '../lib/yaml.ts'
import { formatPath, valueAt } from './validation.ts'
import { FILE_LIMITS, type ReadYaml, readYaml, YamlError, type YamlLimits } from './yaml-text.ts'

/**
 * Invalid files; the message has one line per problem, each with file, line and path.
 * @example
 * new FileError(['a.yaml:1:1: rule must be a list']).problems // => ['a.yaml:1:1: rule must be a list']
 */
export class FileError extends Error {
  /** The lines. Line feeds in names and content of files are escaped. */
  readonly problems: readonly string[]
  constructor(problems: string | readonly string[]) {
    const lines = (typeof problems === 'string' ? [problems] : problems).map(printableLine)
    super(lines.join('\n'))
    this.problems = lines
  }
}

/** The problems of a file that cannot be read or used, one per line. */
export const problemsIn = (error: unknown): readonly string[] =>
  error instanceof FileError ? error.problems : [printableLine(error instanceof Error ? error.message : String(error))]

/**
 * Parses a file of YAML or JSON, or such a text in a request.
 * @param options `firstLine` is the line of the file in which the text begins
 * @throws FileError if it is neither, or exceeds `limits`
 * @example
 * const source = parseSource('a.yaml', 'rules: [1, 2]')
 * source.value // => { rules: [1, 2] }
 * source.at(['rules', 1]) // => 'a.yaml:1:12'
 * parseSource('a.yaml', 'rules: [1') // throws a.yaml:1:
 */
export function parseSource(path: string, text: string, limits: YamlLimits = FILE_LIMITS, { firstLine = 1 } = {}) {
  const lines = new (yaml().LineCounter)()
  const locationOf = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${path}:${line + firstLine - 1}:${col}`
  }
  let read: ReadYaml
  try {
    read = readYaml(text, lines, limits)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    const { offset, message } = error
    throw new FileError(`${locationOf(offset)}: ${message}`)
  }
  const { document, value } = read
  const at = (steps: readonly PropertyKey[]): string => locationOf(offsetOf(document, steps))
  const half = mayHoldHalf(text) ? halfCharacterIn(value) : undefined
  if (half)
    throw new FileError(`${at(half.path)}: ${formatPath(half.path) || 'the file'} ${halfCharacterProblem(half.half)}`)
  const line = ({ path, message }: Problem, whole = 'the file'): string => {
    const written = text.slice(offsetOf(document, path)).split('\n', 1)[0] ?? ''
    return `${at(path)}: ${formatPath(path) || whole} ${message}${remedy(valueAt(value, path), written, message)}`
  }
  const renamed = (problems: readonly Problem[]): string => {
    const places = problems.flatMap(({ path, rename }) => {
      const node = rename && nodeAt(document, path, rename.part)
      if (!rename || !node?.range) return []
      const [from, to] = node.range
      const quote = /^["']/.exec(text[from] ?? '')?.[0] ?? ''
      return [{ from, to, name: `${quote}${rename.to}${quote}` }]
    })
    const backwards = places.toSorted((one, other) => other.from - one.from)
    return backwards.reduce((edited, { from, to, name }) => edited.slice(0, from) + name + edited.slice(to), text)
  }
  return {
    path,
    value,
    /** `file:line:column` of the key or item at a path, or of its nearest existing parent. */
    at,
    /** A line for a problem: its position, its path or `whole`, and a remedy if there is one. */
    line,
    /**
     * The text with the present names in place of the former ones that problems report; everything else is unchanged byte
     * for byte.
     */
    renamed,
  }
}
/** A parsed file. */
export type SourceFile = ReturnType<typeof parseSource>

/** The remedy if YAML has parsed a text as something else. */
function remedy(value: unknown, written: string, message: string): string {
  if (value === null && /^[^:]*:\s*#/.test(written))
    return ': what begins with # is a comment, unless it stands in quotes'
  if (value === null && /^[^:]*:\s*$/.test(written)) return ': nothing stands after the colon'
  const isWord = typeof value === 'number' || typeof value === 'boolean'
  if (isWord && message.startsWith('must be a string')) return ': in quotes it is a text'
  const isPair = typeof value === 'string' && /^[\w.-]+:\S/.test(value)
  return isPair && message.startsWith('must be an object') ? ': a key ends with a colon and a space' : ''
}

type Document = ReturnType<Yaml['parseDocument']>

function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let depth = path.length; depth > 0; depth--) {
    const node = nodeAt(document, path.slice(0, depth), 'key')
    if (node) return node.range?.[0] ?? 0
  }
  return document.contents?.range?.[0] ?? 0
}

/** The key or the value of a pair; an item of a list is both. */
function nodeAt(document: Document, path: readonly PropertyKey[], part: 'key' | 'value') {
  const { isMap, isNode, isScalar, isSeq } = yaml()
  const parent = path.length <= 1 ? document.contents : document.getIn(path.slice(0, -1), true)
  const step = path.at(-1)
  const node = isMap(parent)
    ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === step)?.[part]
    : isSeq(parent) && parent.items[step as number]
  return isNode(node) ? node : undefined
}
