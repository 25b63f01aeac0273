// The input of a command that runs more than once: every run gets the same.
import type { CommandIo } from '../io.ts'

/** The input of one run. */
export type ChildInput = 'inherit' | ReadableStream<Uint8Array>

/**
 * Gives each run of a command all that is piped into this process: what has been read, which is kept, and then what follows. A
 * terminal is left to whoever reads first.
 */
export function repeatedInput({ pipedInput }: Pick<CommandIo, 'pipedInput'>): () => ChildInput {
  const chunks: Uint8Array[] = []
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let isOpened = false
  let reading: Promise<boolean> | undefined
  const readMore = async () => {
    const value = (await reader?.read())?.value
    if (!value) return false
    chunks.push(value)
    reading = undefined
    return true
  }
  return () => {
    if (!isOpened) reader = pipedInput()?.getReader()
    isOpened = true
    if (!reader) return 'inherit'
    let next = 0
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        // Several runs may wait for the same piece.
        if (next === chunks.length && !(await (reading ??= readMore()))) return controller.close()
        controller.enqueue(chunks[next++] ?? new Uint8Array())
      },
    })
  }
}
