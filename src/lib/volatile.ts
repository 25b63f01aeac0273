// Parts of a prompt that a program renews each time it builds it: times, dates and random ids.

/** One such part of a text. */
export interface VolatilePart {
  /** `time` is an instant, `date` a day, `clock` a time of day, `id` anything random. */
  kind: 'time' | 'date' | 'clock' | 'id'
  text: string
  /**
   * Milliseconds: since the epoch for an instant or the start of a day, since midnight for a time of day; NaN for an
   * id.
   */
  at: number
  /** Whether the text says that this is the time or an id of the call itself, as in `Now: 10:15`. */
  isOwn: boolean
}

const MONTH = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?'
const WEEKDAY = '(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\\.?,? )?'
const CLOCK = '\\d{1,2}:\\d\\d(?::\\d\\d(?:[.,]\\d{1,9})?)?(?:\\s?[ap]\\.?m\\b\\.?)?'
const ISO_DAY = '\\d{4}-\\d\\d-\\d\\d'

/** The format of each kind, the longest first. */
const WRITTEN: readonly [kind: VolatilePart['kind'], pattern: string][] = [
  ['time', `${ISO_DAY}[t ]\\d\\d:\\d\\d(?::\\d\\d(?:[.,]\\d{1,9})?)?(?: ?z|[+-]\\d\\d:?\\d\\d)?`],
  ['id', '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'],
  ['date', ISO_DAY],
  ['date', `${WEEKDAY}${MONTH} \\d{1,2}(?:st|nd|rd|th)?,? \\d{4}`],
  ['date', `${WEEKDAY}\\d{1,2}(?:st|nd|rd|th|\\.)? ${MONTH},? \\d{4}`],
  ['date', '\\d{1,2}/\\d{1,2}/\\d{4}'],
  ['date', '\\d{1,2}\\.\\d{1,2}\\.\\d{4}'],
  ['clock', CLOCK],
  ['time', '1[5-9]\\d{8}(?:\\d{3})?'],
  ['id', '(?:[a-z]{1,12}[_-])?[a-z0-9]{16,64}'],
]
/** ULIDs, nano ids and digests alternate letters and digits; words and numbers do not. */
const isRandom = (text: string) => text.includes('-', 20) || (text.match(/[a-z]\d|\d[a-z]/gi)?.length ?? 0) >= 4
const PARTS = new RegExp(`(?<![a-z0-9])(?:${WRITTEN.map(([, pattern]) => `(${pattern})`).join('|')})(?![a-z0-9])`, 'gi')
/** Begins the mark of a part in a text without them; its kind follows. */
export const VOLATILE_MARK = '\u0001'

/** Words before the time or an id of the call itself, with up to two words in between. */
const OWN_TIME = /\b(?:now|time(?:stamp)?|today|current(?:ly)?|clock|it is|it's|it’s)\b\W{0,4}(?:\w{1,9}\W{1,4}){0,2}$/i
const OWN_ID = /\b(?:request|trace|run|call|attempt|correlation|session|nonce|seed)(?:[ _-]?id)?\b\W{0,4}$/i
const CUE_LENGTH = 40

/** A text with a mark in place of each such part, and the parts. */
export function withoutVolatile(text: string): { text: string; parts: VolatilePart[] } {
  const parts: VolatilePart[] = []
  if (!/\d/.test(text)) return { text, parts }
  const marked = text.replace(PARTS, (found: string, ...groups: unknown[]) => {
    const kind = WRITTEN[groups.findIndex((group) => group !== undefined)]?.[0] ?? 'id'
    const before = text.slice(0, Number(groups[WRITTEN.length]))
    const at = AT[kind](found)
    if (kind === 'id' ? !isRandom(found) : Number.isNaN(at)) return found
    parts.push({ kind, text: found, at, isOwn: (kind === 'id' ? OWN_ID : OWN_TIME).test(before.slice(-CUE_LENGTH)) })
    return `${VOLATILE_MARK}${kind}`
  })
  return { text: marked, parts }
}

const DAY_MS = 86_400_000
const dayOf = (text: string): number => {
  const [, first = '', second = '', year = ''] = /^(\d{1,2})[./](\d{1,2})[./](\d{4})$/.exec(text) ?? []
  if (year === '') return Date.parse(`${text.replace(/(\d)(?:st|nd|rd|th|\.)/gi, '$1')} UTC`)
  // Which of the two is the month depends on the country.
  const [day, month] = text.includes('.') || Number(first) > 12 ? [first, second] : [second, first]
  return Date.UTC(Number(year), Number(month) - 1, Number(day))
}
const AT: Record<VolatilePart['kind'], (text: string) => number> = {
  id: () => Number.NaN,
  time(text) {
    if (/^\d+$/.test(text)) return text.length === 10 ? Number(text) * 1000 : Number(text)
    const iso = text.replace(' ', 'T').replace(' ', '').replace(',', '.').toUpperCase()
    return Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`)
  },
  date: (text) => (/^\d{4}-/.test(text) ? Date.parse(text) : dayOf(text)),
  clock(text) {
    const [, hours = '', minutes = '', seconds = '0'] = /^(\d+):(\d+)(?::(\d+))?/.exec(text) ?? []
    if (Number(hours) > 24 || Number(minutes) > 59 || Number(seconds) > 59) return Number.NaN
    const half = /p\.?m/i.test(text) && Number(hours) < 12 ? 12 : 0
    return ((Number(hours) + half) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  },
}

/** Two calls whose texts differ in such parts: their times by each known clock, in ms since the epoch. */
interface RebuildTimes {
  before: readonly number[]
  after: readonly number[]
}

/** How certain it is that a text was rebuilt: its times are those of the calls; they fit; or it is another text. */
export type Rebuilt = 'certain' | 'possible' | 'different'

/** Time zones of programs and machines differ by a multiple of this. */
const ZONE_MS = 15 * 60_000
const NEAR_MS = 38 * 3_600_000
/** Clocks of test doubles may run differently, but not by much. */
const SLACK_MS = 10 * 60_000
/** Minutes are written without seconds, and clocks differ. */
const PROMPT_MS = 2 * 60_000

/** Whether a second text is the first one rebuilt a little later, by the parts in which they differ. */
export function rebuiltText(
  before: readonly VolatilePart[],
  after: readonly VolatilePart[],
  times: RebuildTimes,
): Rebuilt {
  const changes = before.flatMap((first, index) => {
    const second = after[index]
    return second && first.text !== second.text && first.kind !== 'id' ? [rebuiltPart(first, second, times)] : []
  })
  if (changes.includes('different')) return 'different'
  if (changes.includes('possible')) return 'possible'
  // Ids alone may be those of the subject of the request.
  const isOwn = before.every(({ kind, text }, index) => {
    const second = after[index]
    return kind !== 'id' || text === second?.text || (second?.isOwn === true && before[index]?.isOwn === true)
  })
  return changes.length > 0 || isOwn ? 'certain' : 'possible'
}

function rebuiltPart(first: VolatilePart, second: VolatilePart, { before, after }: RebuildTimes): Rebuilt {
  const passed = Math.max(...after.map((time, index) => time - (before[index] ?? time)))
  const change = first.kind === 'clock' ? pastMidnight(second.at - first.at) : second.at - first.at
  if (first.kind === 'date') {
    if (Math.abs(change) > passed + DAY_MS) return 'different'
    return after.some((time, index) => isMidnight(second.at, before[index] ?? time, time)) ? 'certain' : 'possible'
  }
  if (first.isOwn && second.isOwn && Math.abs(change) < DAY_MS) return 'certain'
  if (change < 0 || change > passed + SLACK_MS) return 'different'
  return isNow(first, before) && isNow(second, after) ? 'certain' : 'possible'
}

const pastMidnight = (change: number) => (change < -DAY_MS / 2 ? change + DAY_MS : change)

/** Whether a day started between two instants, in any time zone. */
const isMidnight = (day: number, before: number, after: number): boolean =>
  Math.floor((after - day) / ZONE_MS) > Math.floor((before - day) / ZONE_MS) && Math.abs(after - day) < NEAR_MS

/** Whether a part is the time of a call. */
function isNow({ kind, at }: VolatilePart, calls: readonly number[]): boolean {
  return calls.some((call) => {
    if (kind !== 'clock') return Math.abs(call - at) <= NEAR_MS
    const off = (((call - at) % ZONE_MS) + ZONE_MS) % ZONE_MS
    return Math.min(off, ZONE_MS - off) <= PROMPT_MS
  })
}
