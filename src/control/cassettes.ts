// GET /_understudy/cassettes: what is recorded and replayed.
import { CassetteReport, NO_CASSETTES } from '../contract/core/cassette-report.ts'
import type { Route } from '../contract/core/route.ts'
import { type ControlDeps, controlRoute } from './types.ts'

/** What is recorded and replayed so far. */
export const cassettesRoute = ({ about }: Pick<ControlDeps, 'about'>): Route =>
  controlRoute({
    path: '/_understudy/cassettes',
    session: 'none',
    operationId: 'getCassettes',
    summary: 'Cassettes',
    description:
      'What was recorded and replayed since the start, by session: interactions, misses, interactions that no request has used, cassettes that no session has used, applied rules for volatile fields, and redactions. Empty without --record and --replay.',
    response: CassetteReport,
    answerName: 'Cassettes',
    handle: () => about.cassettes?.report() ?? NO_CASSETTES,
  })
