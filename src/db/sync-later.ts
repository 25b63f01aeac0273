// Files that were closed without waiting for the disk: they are on it soon afterwards, one after the other, and no call waits for that.
import { open } from 'node:fs/promises'

const waiting = new Set<string>()
let running = false

/** Lets the system write a file to the disk; a file that is gone needs none of it. */
export function syncLater(file: string): void {
  waiting.add(file)
  if (!running) void syncAll()
}

async function syncAll(): Promise<void> {
  running = true
  for (const file of waiting) {
    waiting.delete(file)
    try {
      const handle = await open(file, 'r')
      await handle.sync().finally(() => handle.close())
    } catch {
      // It was removed, or no more files can be opened: the system writes it in its own time.
    }
  }
  running = false
}
