// The mistake: the arguments of a tool are not checked.
import { answerWith } from './agent.mjs'

export const answerOf = (question) => answerWith((text) => ({ weather: `sunny in ${JSON.parse(text).city}` }), question)
