// How files and reports state the version of their format.
import { z } from 'zod'
import { FORMATS } from './formats.ts'

/** The key with which a file that people write may state the version of its format. */
export const statedVersion = (format: 'scenario_file' | 'fixture_file' | 'seed_file') =>
  z
    .literal(FORMATS[format], {
      error: `must be ${FORMATS[format]}, the version of the format that this understudy reads`,
    })
    .optional()
    .describe(`Version of the file format: ${FORMATS[format]}.`)

/** The key with which a JSON report states the version of its format. */
export const ReportVersion = z.literal(FORMATS.reports).describe('Version of the format of JSON reports.')
