// Replaces ranges of a body across the frames in which it arrived. Every frame stays where it is.
import type { Frame } from '../contract/core/cassette.ts'
import { joinFrames } from './frames.ts'
import { isEventText, type Rewriting, rewriteBody } from './rewrite.ts'
import { bytesAsText, type Edit, EditedText, utf8View } from './views.ts'

/** What is replaced in a body: in its texts, and then in its bytes, whatever they are. */
export interface BodyRewriting {
  text: Rewriting
  bytes?(body: string): readonly Edit[]
}

const EVENTS = /^\s*text\/event-stream/i
/** Bodies that are no text. */
const BINARY = /^\s*(?:audio|image|video|font)\/|^\s*application\/(?:octet-stream|pdf|zip|gzip|wasm|x-protobuf)/i

/**
 * The frames with replacements in their texts. What replaces a range across frames stands in the first of them; a frame of which nothing is left
 * is left out.
 * @param type the content type, if it is known
 */
export function rewriteFrames(
  frames: readonly Frame[],
  type: string | undefined,
  { text, bytes }: BodyRewriting,
): readonly Frame[] {
  const body = bytesAsText(joinFrames(frames))
  const isStream = EVENTS.test(type ?? '') || isEventText(body)
  if (text.keeps(body, isStream)) return frames
  const isBinary = type !== undefined && BINARY.test(type)
  const changed = isBinary ? frames : spliced(frames, body, (edited) => rewriteBody(utf8View(edited), text, isStream))
  if (!bytes) return changed
  return spliced(changed, changed === frames ? body : bytesAsText(joinFrames(changed)), (edited) => {
    for (const { start, end, by } of bytes(edited.text)) edited.replace(start, end, by)
  })
}

/** The frames with what is replaced in their joined bytes. */
function spliced(frames: readonly Frame[], text: string, rewrite: (body: EditedText) => void): readonly Frame[] {
  const body = new EditedText(text)
  rewrite(body)
  const edits = body.edits()
  if (edits.length === 0) return frames
  let index = 0
  let begin = 0
  return frames.flatMap((frame): Frame[] => {
    const end = begin + frame.bytes.length
    const parts: Uint8Array[] = []
    let from = begin
    for (let edit = edits[index]; edit && edit.start < end; edit = edits[index]) {
      if (edit.start >= begin) {
        parts.push(frame.bytes.subarray(from - begin, edit.start - begin), Buffer.from(edit.by, 'latin1'))
      }
      from = Math.min(edit.end, end)
      // The rest of it stands in the next frame.
      if (edit.end > end) break
      index++
    }
    parts.push(frame.bytes.subarray(from - begin))
    const isChanged = parts.length > 1 || from > begin
    const bytes = isChanged ? new Uint8Array(Buffer.concat(parts)) : frame.bytes
    begin = end
    return bytes.length === 0 && frame.bytes.length > 0 ? [] : [{ at: frame.at, bytes }]
  })
}
