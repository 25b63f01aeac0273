// An app that asks one question with the packages and addresses of its environment: app KIND whole|streamed MANNER.
import { APP_KINDS, ask, MANNERS } from '../apps.ts'
import { connectionOf, type Program } from './surroundings.ts'

export const app =
  (what?: string, how = 'whole', which?: string): Program =>
  async (about) => {
    const kind = APP_KINDS.find((one) => one === what)
    const manner = MANNERS.find((one) => one === which)
    if (!kind || !manner) throw new Error(`no app ${what}, ${which}`)
    const { openai, anthropic } = connectionOf(about)
    const connection = {
      openai: openai.baseURL,
      anthropic: anthropic.baseURL,
      key: openai.apiKey,
      fetch: about.fetch,
    }
    const { text, end } = await ask({ kind, stream: how === 'streamed', prompt: 'Hello!', connection }, manner)
    about.say(`${end}: ${text}`)
  }
