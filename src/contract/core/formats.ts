// The versions of everything that outlives one run of the program. A change that an older or newer version cannot read gets a new
// number here, and a line in docs/compatibility.md.
import { CASSETTE_FORMAT } from './cassette.ts'

/** Version of each format. */
export const FORMATS = {
  control_api: 1,
  scenario_file: 1,
  fixture_file: 1,
  seed_file: 1,
  snapshot: 1,
  cassette: CASSETTE_FORMAT,
  reports: 1,
  database: 1,
  exploration_state: 4,
} as const
