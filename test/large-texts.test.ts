// Long texts: templates are rendered as those of short ones are, though a worker does it.
import { afterAll, describe, expect, test } from 'bun:test'
import { endWorkers, workerCounts } from '../src/lib/worker/pool.ts'
import { testApps } from './support/app.ts'
import { errorOf } from './support/errors.ts'

const { appWith, close } = testApps()
afterAll(async () => {
  await close()
  endWorkers()
})

const CHAT = '/v2/router/chat/completions'
const long = 'A day at the sea. '.repeat(4_000)

describe('templates in a long request', () => {
  const variables = {
    name: 'Ada',
    age: 36,
    tags: ['a', 'b'],
    html: '<b>&"',
    nested: '{{age}}',
    face: '😀',
    nothing: null,
  }
  const ask = (template_engine: string, contents: readonly string[]) => {
    const messages = contents.map((content) => ({ role: 'user', content }))
    return { model: 'openai/some-model', messages, variables, template_engine }
  }
  const templates = {
    text: ['Hello {{name}}!', '', '{{tags}} {{unknown}} {{nested}}', 'Füße 漢字 {{face}}'],
    mustache: ['{{#tags}}[{{.}}]{{/tags}}', '', '{{html}} {{{html}}} {{age}}', '{{^nothing}}none{{/nothing}}'],
    jinja: ['{% for tag in tags %}[{{ tag }}]{% endfor %}', '', '{{ age + 1 }} {{ html }}', '{# a remark #}x'],
  }
  test.each(Object.entries(templates))('are filled in as in a short one (%s)', async (engine, texts) => {
    const app = appWith()
    const rendered = async (contents: readonly string[]) => {
      const answer = await app.post(CHAT, ask(engine, contents))
      expect(answer.status).toBe(200)
      const { messages } = (await app.traceOf(answer)).rendered as { messages: { content: string }[] }
      return messages.map(({ content }) => content)
    }
    const short = await rendered(['', ...texts])
    expect(short).not.toEqual(['', ...texts])
    expect(await rendered([long, ...texts])).toEqual([long, ...short.slice(1)])
  })

  const broken = [
    ['jinja', '{% for x in %}'],
    ['jinja', '{{ name | nothing_such }}'],
    ['mustache', '{{#open}}'],
  ] as const
  test.each(broken)('are refused as in a short one, and not here (%s: %s)', async (engine, template) => {
    endWorkers()
    const app = appWith()
    const refusal = async (first: string) => {
      const answer = await app.post(CHAT, ask(engine, [first, template, template]))
      expect(answer.status).toBe(400)
      return errorOf(answer.text, 400)
    }
    const short = await refusal('')
    expect(short).toMatchObject({ param: 'messages[1].content', code: 'invalid_template' })
    expect(workerCounts().workers).toBe(0)
    expect(await refusal(long)).toEqual(short)
    expect(workerCounts().workers).toBe(1)
  })

  test('of completions are named where they stand', async () => {
    const body = { model: 'openai/some-model', variables, template_engine: 'jinja' }
    const param = 'prompt[1]'
    for (const first of ['fine', long]) {
      const answer = await appWith().post('/v2/router/completions', { ...body, prompt: [first, '{{ 1 +'] })
      expect(errorOf(answer.text, 400)).toMatchObject({
        param,
        message: expect.stringContaining(`'${param}' is not a valid jinja`),
      })
    }
  })
})
