// Reads tables of comma-separated values (RFC 4180), whatever separates them.

/** What may separate the cells of a row. */
const SEPARATORS = [',', '\t', '|', ';']

/** The rows of a table as lists of cells. */
function* rowsOf(text: string, separator: string): Generator<string[]> {
  const ends = new RegExp(`[${separator}\n]|\r\n?`, 'g')
  let cells: string[] = []
  for (let at = 0; at <= text.length; ) {
    let cell = ''
    if (text[at] === '"') {
      let quote = text.indexOf('"', at + 1)
      while (quote >= 0 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2)
      const end = quote < 0 ? text.length : quote
      cell = text.slice(at + 1, end).replaceAll('""', '"')
      at = end + 1
    }
    ends.lastIndex = at
    const end = ends.exec(text)
    cells.push(cell + text.slice(at, end?.index))
    at = end ? ends.lastIndex : text.length + 1
    if (end?.[0] === separator) continue
    // An empty line is no row.
    if (cells.length > 1 || cells[0] !== '') yield cells
    cells = []
  }
}

/** The separator that yields the most cells in the first row. */
function separatorOf(text: string): string {
  const counts = SEPARATORS.map((separator) => rowsOf(text, separator).next().value?.length ?? 0)
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ','
}

function distinctNames(names: readonly string[]): string[] {
  const used = new Set<string>()
  const counts = new Map<string, number>()
  for (const name of names) {
    let count = counts.get(name) ?? 0
    let unique = name
    while (used.has(unique)) unique = `${name}_${++count}`
    counts.set(name, count)
    used.add(unique)
  }
  return [...used]
}

/** The rows of a table as objects, with the names in the first row as keys. A repeated name gets a number. */
export function* csvRows(text: string): Generator<Record<string, unknown>> {
  const rows = rowsOf(text, separatorOf(text))
  const names = distinctNames(rows.next().value ?? [])
  for (const cells of rows) {
    const extra = cells.slice(names.length)
    const row = cells.slice(0, names.length).map((cell, index): [string, unknown] => [names[index] ?? '', cell])
    yield Object.fromEntries(extra.length > 0 ? [...row, ['__parsed_extra', extra]] : row)
  }
}
