// Which test files make up a tier, and what the test runner's report says of them.

/** `fast` is what `npm test` runs, `rest` what it leaves out or runs in part, `all` everything in full. */
export type Tier = 'fast' | 'rest' | 'all'

/** Whether a word names a tier. */
export const isTier = (word: string): word is Tier => word === 'fast' || word === 'rest' || word === 'all'

/** What runs every time: functions, requests within the process, and one smoke test of each folder that costs more. */
const isFast = (file: string): boolean => /^test\/(?:unit|api)\/|\/smoke\.test\.ts$/.test(file)
/** A file whose properties are run a tenth as often in a hurry. */
const hasProperties = (text: string): boolean => text.includes('support/property.ts')

/**
 * The files of a tier.
 * @param files paths from the project's root, such as `test/unit/ids.test.ts`
 * @param textOf the text of one of them
 */
export function filesOf(tier: Tier, files: readonly string[], textOf: (file: string) => string): string[] {
  if (tier === 'all') return [...files]
  if (tier === 'fast') return files.filter(isFast)
  return files.filter((file) => !isFast(file) || hasProperties(textOf(file)))
}

/** What a run came to. */
export type TestTotals = ReturnType<typeof totalsOf>

const numberOf = (tag: string, name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(tag)?.[1] ?? 0)

/**
 * What the runner's JUnit report says. A file that could not be loaded is not in it, and counts as one failure; so does a runner that
 * failed or ran nothing, whatever the report says.
 * @param xml the report; empty when none was written
 * @param code the runner's exit code
 * @param wanted the files that were to run; undefined when only the runner knows
 */
export function totalsOf(xml: string, code: number, wanted?: readonly string[]) {
  const [total = ''] = /<testsuites [^>]*>/.exec(xml) ?? []
  // Two spaces in: suites of a file stand in that of the file.
  const suites = [...xml.matchAll(/^ {2}<testsuite [^>]*>/gm)].map(([tag]) => ({
    file: / file="([^"]*)"/.exec(tag)?.[1] ?? '',
    failures: numberOf(tag, 'failures'),
  }))
  const ran = new Set(suites.map(({ file }) => file))
  const missing = (wanted ?? []).filter((file) => !ran.has(file))
  const failures = numberOf(total, 'failures')
  const passed = numberOf(total, 'tests') - failures - numberOf(total, 'skipped')
  const unnamed = failures + missing.length === 0 && (code !== 0 || passed === 0) ? 1 : 0
  /** Files of which a test has failed, or which could not be loaded. */
  const failedFiles = [...suites.filter((suite) => suite.failures > 0).map(({ file }) => file), ...missing]
  return { passed, failed: failures + missing.length + unnamed, failedFiles }
}
