// Control calls that prepare a test: one that is refused would let the test pass, or fail, for another reason.

/** What a call was answered, read to its end or not. */
interface Status {
  status: number
  text: string | (() => Promise<string>)
}

/** Waits for the answer to a call that must succeed; throws with what was answered instead. */
export async function accepted<Answer extends Status>(call: Promise<Answer>): Promise<Answer> {
  const answer = await call
  if (answer.status < 300) return answer
  const text = typeof answer.text === 'string' ? answer.text : await answer.text()
  throw new Error(`a call that prepares the test was answered ${answer.status}: ${text}`)
}
