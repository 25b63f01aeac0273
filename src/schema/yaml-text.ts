// Reads YAML within limits: the library has none of its own, and takes quadratic time for some texts. Explains the mistakes that it
// reports: its messages are about the grammar, not about what was intended.
import { MAX_DEPTH, nestingProblem } from '../lib/nesting.ts'
import { type Yaml, yaml } from '../lib/yaml.ts'

/** Limits on YAML: characters, and tokens (words, punctuation, line breaks), which take about 10 microseconds each. */
export interface YamlLimits {
  characters: number
  tokens: number
}

/** For a file on disk, which is read at start and when it changes. */
export const FILE_LIMITS: YamlLimits = { characters: 16_000_000, tokens: 500_000 }
/** For a text in a request: some 2,000 lines. */
export const REQUEST_LIMITS: YamlLimits = { characters: 256_000, tokens: 20_000 }
const MAX_ALIASES = 1_000
/** Precedes a scalar, whatever the scalar looks like. */
const SCALAR = '\x1f'
/** Tokens that stand for no characters: a document, the end of a flow collection and a scalar begin with them. */
const MARKS = new Set(['\x02', '\x18', SCALAR])

/** A text that cannot be read as YAML; `offset` is the position, in UTF-16 units. */
export class YamlError extends Error {
  readonly offset: number
  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

type YamlDocument = ReturnType<Yaml['parseDocument']>

/** A parsed text. */
export interface ReadYaml {
  document: YamlDocument
  /** Only JSON: no cycle, nothing but objects, arrays and scalars. */
  value: unknown
}

type LineCounter = InstanceType<Yaml['LineCounter']>

/**
 * Reads one document of YAML 1.2 or JSON.
 * @param lines receives the start of each line
 * @throws YamlError for a mistake, and for a text that is larger, deeper or more repetitive than `limits` allow
 */
export function readYaml(text: string, lines: LineCounter, limits: YamlLimits): ReadYaml {
  try {
    checkSize(text, limits)
  } catch (error) {
    if (error instanceof YamlError) countLines(text, lines, error.offset)
    throw error
  }
  try {
    return parse(text, lines, limits)
  } catch (error) {
    // The library recurses for each level.
    if (error instanceof RangeError) throw new YamlError('the text is nested too deeply', 0)
    throw error
  }
}

/** Finds the line starts up to an offset in a text that is not parsed. */
function countLines(text: string, lines: LineCounter, until: number): void {
  lines.addNewLine(0)
  for (let end = text.indexOf('\n'); end >= 0 && end < until; end = text.indexOf('\n', end + 1))
    lines.addNewLine(end + 1)
}

function checkSize(text: string, { characters, tokens }: YamlLimits): void {
  if (text.length > characters)
    throw new YamlError(`the text is longer than ${characters} characters, got ${text.length}`, 0)
  // Each token has at least one character.
  if (text.length <= Math.min(tokens, MAX_ALIASES)) return
  let [count, aliases, offset] = [0, 0, 0]
  // Depth of open lists and mappings in this line, and of those in brackets: the parser takes quadratic time for them.
  let [inLine, inBrackets] = [0, 0]
  let before = ''
  for (const token of new (yaml().Lexer)().lex(text)) {
    if (before !== SCALAR) {
      if (token === '-' || token === '?') inLine++
      else if (token === '[' || token === '{') inBrackets++
      else if (token === ']' || token === '}') inBrackets--
      else if (token.endsWith('\n')) inLine = 0
      if (inLine + inBrackets > MAX_DEPTH)
        throw new YamlError(`the text is nested more than ${MAX_DEPTH} levels deep`, offset)
    }
    before = token
    if (token.startsWith('*')) aliases++
    if (++count > tokens) throw new YamlError(`the text has more than ${tokens} words and signs of YAML`, offset)
    if (aliases > MAX_ALIASES) throw new YamlError(`the text has more than ${MAX_ALIASES} aliases`, offset)
    if (!MARKS.has(token)) offset += token.length
  }
}

function parse(text: string, lines: LineCounter, limits: YamlLimits): ReadYaml {
  // Unique keys are checked by `yamlMistake`, since the library compares each with each. Tags of YAML 1.1 are not JSON.
  const document = yaml().parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    uniqueKeys: false,
    resolveKnownTags: false,
  })
  const mistake = yamlMistake(document, text)
  // The library reports a stack overflow as a mistake of the text.
  if (mistake?.message.startsWith('Maximum call stack')) throw new RangeError(mistake.message)
  if (mistake) throw mistake
  let value: unknown
  try {
    value = document.toJS()
  } catch (error) {
    if (error instanceof RangeError) throw error
    // Such as aliases that expand to too much.
    throw new YamlError((error as Error).message, 0)
  }
  if (!text.includes('*')) return { document, value: checkedDepth(value) }
  const size = expandedSize(value, new Map())
  if (size === undefined) throw new YamlError('the text has an alias inside of what it stands for', 0)
  if (size > limits.tokens)
    throw new YamlError(`the text has more than ${limits.tokens} values once its aliases are resolved`, 0)
  return { document, value: checkedDepth(value) }
}

function checkedDepth(value: unknown): unknown {
  const problem = nestingProblem(value)
  if (problem) throw new YamlError(`the text ${problem}`, 0)
  return value
}

/** Number of values in a value, each alias counted as its target; undefined for a cycle. */
function expandedSize(value: unknown, sizes: Map<object, number | undefined>): number | undefined {
  if (typeof value !== 'object' || value === null) return 1
  // A value that is still being counted is in the map without a number.
  if (sizes.has(value)) return sizes.get(value)
  sizes.set(value, undefined)
  let sum = 1
  for (const inner of Object.values(value)) {
    const size = expandedSize(inner, sizes)
    if (size === undefined) return undefined
    sum += size
  }
  sizes.set(value, sum)
  return sum
}

const QUOTES = 'must stand in quotes'
const COLON = `a text with a colon and a space in it ${QUOTES}`
const TEMPLATE = `a text that begins with a template ({{...}}) ${QUOTES}`

/** The rest of a line from an offset on. */
const restOfLine = (text: string, offset: number) => text.slice(offset).split('\n', 1)[0] ?? ''
/** The line of an offset. */
const lineOf = (text: string, offset: number) => restOfLine(text, text.lastIndexOf('\n', offset - 1) + 1)

/** Remedies, by the library's code of the mistake. */
const REASONS: Record<string, (text: string, offset: number, message: string) => string | undefined> = {
  TAB_AS_INDENT: () => 'indent with spaces',
  BAD_ALIAS: () => `a text that begins with * ${QUOTES}`,
  TAG_RESOLVE_FAILED: () => `a text that begins with ! ${QUOTES}`,
  BAD_SCALAR_START: (text, offset) => `a text that begins with ${text[offset]} ${QUOTES}`,
  BLOCK_AS_IMPLICIT_KEY: (text, offset) =>
    restOfLine(text, offset).includes(': ') ? COLON : 'the next line is indented more than this one',
  BLOCK_IN_FLOW: () => COLON,
  BAD_INDENT: (_, __, message) =>
    message.startsWith('Flow')
      ? 'is a bracket above not closed?'
      : 'lines that belong together must begin in the same column',
  MULTIPLE_DOCS: () => 'several fixtures of a file stand in a list, each after a dash',
  UNEXPECTED_TOKEN: (text, offset) =>
    /: *\{\{/.test(lineOf(text, offset)) ? TEMPLATE : `a text with quotes or brackets in it ${QUOTES} as a whole`,
  MULTILINE_IMPLICIT_KEY: () => 'a key ends with a colon and a space',
  BAD_DQ_ESCAPE: () => 'in single quotes a backslash stands for itself',
  MISSING_CHAR: (text, _, message) => {
    if (message.includes('quote')) return 'a text that begins with a quotation mark must end with one'
    return text.startsWith('%') ? `a text that begins with % ${QUOTES}` : undefined
  },
}

/** The first mistake in a document; undefined if it is valid. */
function yamlMistake(document: YamlDocument, text: string): YamlError | undefined {
  const [broken] = [...document.errors, ...document.warnings]
  if (!broken) return keyOrAliasMistake(document, text)
  const offset = isOpenQuote(broken) ? (openQuote(document) ?? broken.pos[0]) : broken.pos[0]
  const reason = REASONS[broken.code]?.(text, offset, broken.message)
  return new YamlError(reason === undefined ? broken.message : `${broken.message}: ${reason}`, offset)
}

const isOpenQuote = ({ code, message }: { code: string; message: string }) =>
  code === 'MISSING_CHAR' && message.includes('quote')

/**
 * The start of a text whose quotation mark is never closed: it extends to the end of the file, so it is the last one.
 */
function openQuote(document: YamlDocument): number | undefined {
  let found: number | undefined
  yaml().visit(document, {
    Scalar(_, { type, range }) {
      if (type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE') found = range?.[0]
    },
  })
  return found
}

const isPlain = (node: { type?: string | undefined }) => node.type === 'PLAIN'

/** Mistakes that the library accepts: an unknown alias, a key that is repeated or is not a text, a merge key. */
function keyOrAliasMistake(document: YamlDocument, text: string): YamlError | undefined {
  let found: YamlError | undefined
  const anchors = new Set<string>()
  const { isMap, isNode, isScalar, visit } = yaml()
  const mistake = (node: { range?: readonly number[] | null | undefined } | null, message: string) => {
    found = new YamlError(message, node?.range?.[0] ?? 0)
    return visit.BREAK
  }
  visit(document, {
    Alias(_, node) {
      if (anchors.has(node.source)) return undefined
      return mistake(node, `Unresolved alias *${node.source}: a text that begins with * ${QUOTES}`)
    },
    Map(_, node) {
      if (node.anchor !== undefined) anchors.add(node.anchor)
      const keys = new Set<string>()
      for (const { key } of node.items) {
        if (!isNode(key)) continue
        if (!isScalar(key)) {
          const isTemplate = isMap(key) && text.includes('{{')
          return mistake(key, isTemplate ? `a mapping cannot be a key: ${TEMPLATE}` : 'a key must be a text')
        }
        if (key.value === '<<' && isPlain(key))
          return mistake(key, 'merge keys (<<) are not supported: write the keys out')
        const name = String(key.value)
        if (keys.has(name)) return mistake(key, `Map keys must be unique: '${name.slice(0, 100)}' is there twice`)
        keys.add(name)
      }
      return undefined
    },
    Value(_, node) {
      if (node.anchor !== undefined) anchors.add(node.anchor)
    },
  })
  return found
}
