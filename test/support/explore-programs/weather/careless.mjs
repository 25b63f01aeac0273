// The mistake: the arguments of a tool are not checked.
import { answerWith } from './agent.mjs'

const weather = (text) => ({ weather: `sunny in ${JSON.parse(text).city}` })

export const answerOf = (connection, question) => answerWith(connection, weather, question)
