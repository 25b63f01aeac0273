// Texts as vectors, without a model. Each word, pair of words and n-gram of letters adds signed numbers at positions
// that its hash selects, so texts that share many of them point in the same direction. It captures spelling, not
// meaning.

/** Stop words, case-folded: English, German, Spanish and French. */
const STOP_WORDS = new Set(
  `a about all also am an and any are as at be been being but by can could did do does for from get had has have how i if in
  into is it its me my no not of on or our shall should so some than that the their them then there these they this those to
  up us was we were what when where which who whom whose why will with would you your
  aber als am auf aus bei bin das dass dein dem den der des die dir du ein eine einem einen einer er es fur hat haben ich ihr
  ihre im ist kann konnen man mein mich mir mit muss nach nicht noch oder sein sich sie sind soll uber um und uns unser vom
  von vor wann war warum was wenn wer werden wie wir wird wo zu zum zur
  al como con cual cuando de del donde el ella en era es esta este fue hay la las lo los mas mi mis muy para pero por porque
  puede puedo que quien se ser si sin sobre son su sus tu un una unos y ya yo
  au aux avec ce ces cette comment dans elle et il ils je le les leur mais mon ne nous ou par pas pour quand qui sa ses sur une
  vous`
    .split(/\s+/)
    .filter((word) => word !== ''),
)
const STOP_WEIGHT = 0.1
const PAIR_WEIGHT = 0.5
/** Weight of all n-grams of one word together. */
const RUNS_WEIGHT = 1

// Scripts without spaces between words count each sign as a word. Their pairs then serve as n-grams.
const WORD = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]\p{M}*|[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
const ACCENTS = /[\u0300-\u036f]/g
// Inflectional endings, longest first. The rest must still look like a word.
const ENDING =
  /(?:ations?|ungen|aciones|acion|ments?|mente|ingly|ings?|edly|ated|ates?|iones|iert|ieren|ung|ies|ied|ers?|est|ed|ly|es|en|em|er|ar|ir|os|as|al|s|e|n|o|a|y)$/
const MIN_STEM_LENGTH = 4

/**
 * Length of a block of the vector. Each feature is in every block once, so that a shortened vector keeps all features.
 */
const BLOCK = 32

/**
 * The unit vector of a text. Equal texts have equal vectors, similar texts near ones (cosine). The vector for fewer
 * `dimensions` is the beginning of the one for more, normalized again.
 */
export function embed(text: string, dimensions: number): Float32Array {
  const sums = new Float64Array(Math.ceil(dimensions / BLOCK) * BLOCK)
  for (const [feature, weight] of featuresOf(text)) add(sums, feature, weight)
  return unit(sums.subarray(0, dimensions))
}

/** The cosine of two unit vectors. */
export function cosine(one: Float32Array, other: Float32Array): number {
  let sum = 0
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0)
  return sum
}

/** The encoding of vectors in a response: numbers, or the base64 of their 32-bit floats. */
export type VectorEncoding = 'float' | 'base64'

/** Eight decimal places: the precision of a 32-bit float of this size, in half the JSON. */
const rounded = (vector: Float32Array): number[] => Array.from(vector, (value) => Math.round(value * 1e8) / 1e8)

const base64 = (vector: number[]): string => Buffer.from(Float32Array.from(vector).buffer).toString('base64')

/** A vector in the encoding of a response. */
export const encodeVector = (vector: number[], encoding: VectorEncoding): number[] | string =>
  encoding === 'base64' ? base64(vector) : vector

/** The vector of a text as numbers of a response. */
export const answerVector = (text: string, dimensions: number): number[] => rounded(embed(text, dimensions))

/** Vectors for transfer between threads: each as JSON, or all numbers of those that are written as numbers. */
export interface EncodedVectors {
  json: string[]
  numbers: Float64Array
}

/** The vectors of several texts in the encoding of a response. */
export function encodeTexts(
  texts: readonly string[],
  { dimensions, encoding }: { dimensions: number; encoding: VectorEncoding },
): EncodedVectors {
  const vectors = texts.map((text) => answerVector(text, dimensions))
  const json = vectors.map((vector) => JSON.stringify(encodeVector(vector, encoding)))
  return { json, numbers: encoding === 'float' ? Float64Array.from(vectors.flat()) : new Float64Array() }
}

/** The first `dimensions` numbers of a vector, normalized. */
export const shorten = (vector: ArrayLike<number>, dimensions: number): Float32Array =>
  unit(Float64Array.from(vector).subarray(0, dimensions))

/** Features of a text by hash, with their weights. A repeated feature weighs more, but less each time. */
function featuresOf(text: string): Map<number, number> {
  const features = new Map<number, number>()
  const counts = new Map<string, number>()
  const words = wordsOf(text)
  let previous: string | undefined
  for (const word of words) {
    counts.set(word, (counts.get(word) ?? 0) + 1)
    if (STOP_WORDS.has(word)) continue
    const stem = stemOf(word)
    if (previous !== undefined) raise(features, `${previous} ${stem}`, PAIR_WEIGHT)
    previous = stem
  }
  for (const [word, count] of counts) {
    const weight = (STOP_WORDS.has(word) ? STOP_WEIGHT : 1) * (1 + Math.log(count))
    raise(features, stemOf(word), weight)
    const runs = runsOf(word)
    for (const run of runs) raise(features, run, (weight * RUNS_WEIGHT) / Math.sqrt(runs.length))
  }
  return features
}

const folded = (text: string) => text.normalize('NFKD').replace(ACCENTS, '').toLowerCase().replaceAll('ß', 'ss')

/** The words of a text, case-folded. A text of signs alone is one word. */
function wordsOf(text: string): string[] {
  const fold = folded(text)
  return fold.match(WORD) ?? [fold]
}

function stemOf(word: string): string {
  const stem = word.replace(ENDING, '')
  return stem.length >= MIN_STEM_LENGTH ? stem : word
}

/** N-grams of three and four letters, with both ends of the word marked. */
function runsOf(word: string): string[] {
  const marked = `<${word}>`
  const runs: string[] = []
  for (let at = 0; at + 3 <= marked.length; at++) {
    runs.push(marked.slice(at, at + 3))
    if (at + 4 <= marked.length) runs.push(marked.slice(at, at + 4))
  }
  return runs
}

function raise(features: Map<number, number>, feature: string, weight: number): void {
  const hash = hashOf(feature)
  features.set(hash, (features.get(hash) ?? 0) + weight)
}

/** FNV-1a over UTF-16 code units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

/** Adds a feature at one position of each block: five bits of a mixed hash select the position, a sixth the sign. */
function add(sums: Float64Array, feature: number, weight: number): void {
  for (let block = 0; block < sums.length; block += BLOCK) {
    let mixed = Math.imul(feature ^ block, 0x9e3779b1)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
    mixed ^= mixed >>> 13
    const index = block + (mixed & (BLOCK - 1))
    sums[index] = (sums[index] ?? 0) + (mixed & BLOCK ? weight : -weight)
  }
}

/** The vector normalized to length 1. The zero vector becomes the first axis. */
function unit(vector: Float64Array): Float32Array {
  let squares = 0
  for (let at = 0; at < vector.length; at++) squares += (vector[at] ?? 0) ** 2
  const length = Math.sqrt(squares)
  const scaled = new Float32Array(vector.length)
  if (length === 0) scaled[0] = 1
  else for (let at = 0; at < vector.length; at++) scaled[at] = (vector[at] ?? 0) / length
  return scaled
}
