// A YAML or JSON file as a value, with the place of everything in it.
import { LineCounter, parseDocument } from 'yaml'

/** A parsed file. */
export interface YamlFile {
  value: unknown
  /** `file:line:column` of what lies at a path, or of the nearest thing above it. */
  placeOf(path: readonly PropertyKey[]): string
}

/** Parses a text; `broken` is a line that says where and why when it is no YAML. */
export function readYaml(text: string, name: string): YamlFile | { broken: string } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${name}:${line}:${col}`
  }
  const [broken] = document.errors
  if (broken) return { broken: `${place(broken.pos[0])}: ${broken.message}` }
  const nearest = (path: readonly PropertyKey[]): number => {
    for (let depth = path.length; depth > 0; depth--) {
      const node = document.getIn(path.slice(0, depth), true)
      if (node && typeof node === 'object' && 'range' in node) return (node.range as [number] | undefined)?.[0] ?? 0
    }
    return document.contents?.range?.[0] ?? 0
  }
  return { value: document.toJS(), placeOf: (path) => place(nearest(path)) }
}
