// Explains mistakes that the YAML library reports: its messages are about the grammar, not about what was intended.
import { type Yaml, yaml } from '../lib/yaml.ts'

/** A mistake, and its offset in the text. */
interface YamlMistake {
  offset: number
  message: string
}

type YamlDocument = ReturnType<Yaml['parseDocument']>

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
export function yamlMistake(document: YamlDocument, text: string): YamlMistake | undefined {
  const [broken] = [...document.errors, ...document.warnings]
  if (!broken) return keyOrAliasMistake(document, text)
  const offset = isOpenQuote(broken) ? (openQuote(document) ?? broken.pos[0]) : broken.pos[0]
  const reason = REASONS[broken.code]?.(text, offset, broken.message)
  return { offset, message: reason === undefined ? broken.message : `${broken.message}: ${reason}` }
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
function keyOrAliasMistake(document: YamlDocument, text: string): YamlMistake | undefined {
  let found: YamlMistake | undefined
  const anchors = new Set<string>()
  const { isMap, isNode, isScalar, visit } = yaml()
  const mistake = (node: { range?: readonly number[] | null | undefined } | null, message: string) => {
    found = { offset: node?.range?.[0] ?? 0, message }
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
    Seq(_, node) {
      if (node.anchor !== undefined) anchors.add(node.anchor)
    },
    Scalar(_, node) {
      if (node.anchor !== undefined) anchors.add(node.anchor)
    },
  })
  return found
}
