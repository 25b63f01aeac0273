// Pictures that were drawn lately, so that one asked for again is not drawn again. Bounded: a server runs for days.
import { type ImageSpec, renderImage } from './image.ts'

/** A file has at most some 250 kB, so these are a few megabytes. */
const MOST_PICTURES = 24
const pictures = new Map<string, Promise<Uint8Array>>()

/** The whole file of a picture; the same wish at the same time is drawn once. */
export function cachedImage(spec: ImageSpec): Promise<Uint8Array> {
  const key = JSON.stringify(spec)
  const picture = pictures.get(key) ?? renderImage(spec)
  // Taken out and put in again, so that the one unused for longest is the first to go.
  pictures.delete(key)
  pictures.set(key, picture)
  const [oldest] = pictures.keys()
  if (pictures.size > MOST_PICTURES && oldest !== undefined) pictures.delete(oldest)
  return picture
}
