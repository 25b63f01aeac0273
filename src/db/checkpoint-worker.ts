// The second thread of a file database: moves the write-ahead log into the file when told to.
import { checkpointFile } from './checkpoint.ts'

declare const self: Worker

self.onmessage = ({ data }: MessageEvent<string>) => {
  checkpointFile(data)
  self.postMessage('done')
}
