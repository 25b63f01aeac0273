// The worker for checkpoints: a separate program inside the executable.
import type { CheckpointReport } from './checkpoint.ts'
import { checkpointFile, isOverwritten } from './open.ts'

declare const self: Worker

self.onmessage = ({ data: file }: MessageEvent<string>) => self.postMessage(moved(file))

function moved(file: string): CheckpointReport {
  try {
    if (isOverwritten(file)) return { moved: 0, error: `${file} is not a database of ours any more` }
    return { moved: checkpointFile(file) }
  } catch (error) {
    return { moved: 0, error: String(error) }
  }
}
