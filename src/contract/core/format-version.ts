// How files and reports state the version of their format.
import { z } from 'zod'
import { FORMATS } from './formats.ts'

/** The formats of files that people write, which may state their version. */
type WrittenFormat = 'scenario_file' | 'fixture_file' | 'seed_file'

/** The key with which a file states the version of its format. */
export const statedVersion = (format: WrittenFormat) =>
  z
    .literal(FORMATS[format], {
      error: `must be ${FORMATS[format]}, the version of the format that this understudy reads`,
    })
    .optional()
    .describe(`Version of the file format: ${FORMATS[format]}.`)

/** The key with which a JSON report states the version of its format. */
export const ReportVersion = z.literal(FORMATS.reports).describe('Version of the format of JSON reports.')
