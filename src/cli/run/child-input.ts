// The input of a command that runs more than once: every run gets the same.
import type { CommandIo } from '../io.ts'

/** The input of one run. */
export type ChildInput = 'inherit' | ReadableStream<Uint8Array> | Uint8Array

/**
 * Gives each run of a command what is piped into this process. The first one gets it as it comes, and the others what has come
 * until they start. A terminal is left to whoever reads first.
 */
export function repeatedInput({ pipedInput }: Pick<CommandIo, 'pipedInput'>): () => ChildInput {
  const chunks: Uint8Array[] = []
  let isRead = false
  return () => {
    if (isRead) return Buffer.concat(chunks)
    const reader = pipedInput()?.getReader()
    if (!reader) return 'inherit'
    isRead = true
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        chunks.push(value)
        controller.enqueue(value)
      },
      cancel: () => reader.cancel(),
    })
  }
}
