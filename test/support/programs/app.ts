// An app that asks one question with the packages and addresses of its environment: app.ts KIND whole|streamed MANNER.
import { APP_KINDS, ask, MANNERS } from '../apps.ts'
import { say } from './surroundings.ts'

const [what, how = 'whole', which] = process.argv.slice(2)
const kind = APP_KINDS.find((one) => one === what)
const manner = MANNERS.find((one) => one === which)
if (!kind || !manner) throw new Error(`no app ${what}, ${which}`)

const { text, end } = await ask({ kind, stream: how === 'streamed', prompt: 'Hello!', connection: {} }, manner)
say(`${end}: ${text}`)
