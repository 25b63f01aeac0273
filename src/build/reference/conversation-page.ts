// The page on rules of conversations: what each provider rejects, in which words, and who has seen it.
import { HistoryRecord } from '../../contract/core/history.ts'
import { PROVIDERS } from '../../providers/index.ts'
import {
  HISTORY_PROBLEMS,
  type HistoryProblem,
  type HistoryRule,
  type RequestForm,
} from '../../providers/rules/rule.ts'
import { block, code, keyTable, meanings, page, table } from './markdown.ts'

const FORMS: Record<RequestForm, string> = { chat: 'chat completions', responses: 'responses', messages: 'messages' }

/** A rejection as it would be for these places and ids. */
const SAMPLE: Omit<HistoryProblem, 'problem'> = { index: 1, part: 0, first: 2, ids: ['ID', 'ID'], found: 'TYPE' }

function rowOf(rule: HistoryRule): string[] {
  const { status, code: name, message } = rule.reject({ problem: rule.problem, ...SAMPLE })
  const models = rule.models ? code(rule.models.source) : 'all'
  return [
    code(rule.problem),
    models,
    `${status}${name ? ` ${code(name)}` : ''}`,
    code(message),
    `[source](${rule.source})`,
  ]
}

/** Every rule about conversations. */
export const conversationRulesPage = (): string =>
  page(
    'Conversation rules',
    'Providers reject broken conversations, such as a tool call without its result. This page lists every rule with the message and the source that it is based on.',
    block('sh', 'understudy serve --history lenient'),
    '[Broken conversations](../conversations.md) is the guide. A provider without rules here accepts every conversation.',
    '## What can be wrong with a conversation',
    meanings('rule', HISTORY_PROBLEMS),
    ...PROVIDERS.filter(({ history }) => history.length > 0).flatMap(({ name, history }) => [
      `## Rules of ${name}`,
      ...Object.entries(FORMS).flatMap(([form, title]) => {
        const rules = history.filter((rule) => rule.form === form)
        return rules.length === 0
          ? []
          : [`**${name}: ${title}**`, table(['rule', 'models', 'status', 'message', 'source'], rules.map(rowOf))]
      }),
    ]),
    '## Rules about parameters',
    'Parameters that a model does not support are rejected in the same way. Unknown parameters never are.',
    table(
      ['rule', 'provider', 'models', 'source'],
      PROVIDERS.flatMap(({ name, parameters }) =>
        parameters.map(({ id, models, source }) => [code(id), name, code(models.source), `[source](${source})`]),
      ),
    ),
    '## Keys of a rejection in a trace',
    'An attempt has the key `history` when its provider rejects the request, or would.',
    keyTable(HistoryRecord, { io: 'output' }),
    '## Limits of these rules',
    'Sources were looked up on 26 November 2026. Providers change their messages. What could not be sourced, or differs between models in undocumented ways, is accepted.',
  )
