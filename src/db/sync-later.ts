// Syncs files that were closed without waiting for the disk, one after the other, soon afterwards.
import { open } from 'node:fs/promises'

const waiting = new Set<string>()
let running = false

/** Syncs a file to the disk, unless it was deleted. */
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
      // It was deleted, or no more files can be opened: the system writes it in its own time.
    }
  }
  running = false
}
