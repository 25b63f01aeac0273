// Records the cassette of a session without end, and prints a line for each interaction that is written. Arguments: folder and the
// size of a response in bytes.
import { CassetteWriter } from '../../../src/cassettes/write.ts'
import { answered, chatInteraction, frame, newHeader } from '../cassettes.ts'

const [, , folder = '', size = '1'] = process.argv
const writer = new CassetteWriter(folder, newHeader('killed'), {
  report: (problem) => {
    process.stdout.write(`problem ${problem}\n`)
  },
})
const text = 'x'.repeat(Number(size))
// In a function, since bytecode has no await outside of one.
async function record(): Promise<void> {
  for (let number = 0; number < 100_000; number++) {
    await writer.append(chatInteraction({ number }, { attempts: [answered(frame(number, text))] }))
    process.stdout.write(`written ${number}\n`)
  }
}
void record()
