// What the test of each runner does: it checks the program that is named in the environment, such as `title/careless`.
const { PROGRAM = '', OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY } = process.env
const { check } = await import(`./${PROGRAM.split('/')[0]}/check.mjs`)
const program = await import(`./${PROGRAM}.mjs`)
const connection = {
  openai: { baseURL: OPENAI_BASE_URL, apiKey: OPENAI_API_KEY, fetch },
  anthropic: { baseURL: ANTHROPIC_BASE_URL, apiKey: ANTHROPIC_API_KEY, fetch },
}

export const checked = () => check(program, connection)
