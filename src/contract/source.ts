// Files that people write, as YAML or JSON: read strictly, with the place of every mistake.
import { LineCounter, parseDocument } from 'yaml'

/** A file that cannot be used; the message has a line a problem, each with file, line and path. */
export class FileError extends Error {}

/** A parsed file. */
export interface Source {
  path: string
  value: unknown
  /** `file:line:column` of the value at a path, or of the nearest one above it. */
  at(path: readonly PropertyKey[]): string
}

/**
 * Parses a file of YAML or JSON.
 * @throws FileError where it is neither.
 */
export function parseSource(path: string, text: string): Source {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${path}:${line}:${col}`
  }
  const [broken] = document.errors
  if (broken) throw new FileError(`${place(broken.pos[0])}: ${broken.message}`)
  let value: unknown
  try {
    value = document.toJS()
  } catch (error) {
    // An alias without its anchor is found only here.
    throw new FileError(`${path}: ${(error as Error).message}`)
  }
  return { path, value, at: (steps) => place(offsetOf(document, steps)) }
}

function offsetOf(document: ReturnType<typeof parseDocument>, path: readonly PropertyKey[]): number {
  for (let depth = path.length; depth > 0; depth--) {
    const node = document.getIn(path.slice(0, depth), true)
    if (node && typeof node === 'object' && 'range' in node) return (node.range as [number] | undefined)?.[0] ?? 0
  }
  return document.contents?.range?.[0] ?? 0
}
