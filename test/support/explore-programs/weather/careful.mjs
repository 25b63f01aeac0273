import { answerWith } from './agent.mjs'

function weather(text) {
  try {
    const { city } = JSON.parse(text)
    if (typeof city !== 'string') return { error: 'city must be a text' }
    return { weather: `sunny in ${city}` }
  } catch {
    return { error: 'the arguments are invalid JSON' }
  }
}

export const answerOf = (connection, question) => answerWith(connection, weather, question)
