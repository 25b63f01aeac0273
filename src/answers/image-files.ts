// Image files: generated ones, which are cached, and provided ones.
import { byteCache } from '../lib/byte-cache.ts'
import type { ImageSpec } from '../lib/media/image.ts'
import type { ImageSource } from '../lib/media/image-format.ts'
import { inWorker } from './in-worker.ts'

/**
 * The file of an image.
 * @throws the signal's reason if that aborts first
 */
export const imageFile = (source: ImageSource, signal: AbortSignal): Promise<Uint8Array> =>
  'base64' in source ? Promise.resolve(Buffer.from(source.base64, 'base64')) : drawnImage(source, signal)

/** Generated images, at most 32 MiB, about 130: drawing one takes tens of milliseconds in a worker. */
const pictures = byteCache<Promise<Uint8Array>>(32 << 20)
/** Images that are being drawn, with the number of waiting calls. */
const drawing = new Map<string, { picture: Promise<Uint8Array>; waiting: number; stop: AbortController }>()

/** The size of the image cache. */
export const imageCacheSize = pictures.size

/** Equal images are drawn once, even if they are requested at the same time. Abandoned ones are not drawn. */
async function drawnImage(spec: ImageSpec, signal: AbortSignal): Promise<Uint8Array> {
  const key = JSON.stringify(spec)
  const cached = pictures.get(key)
  if (cached) return cached
  signal.throwIfAborted()
  const begun = drawing.get(key) ?? begin(spec, key)
  begun.waiting++
  const leave = () => {
    if (--begun.waiting > 0) return
    drawing.delete(key)
    begun.stop.abort(signal.reason)
  }
  signal.addEventListener('abort', leave)
  try {
    return await begun.picture
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

function begin(spec: ImageSpec, key: string) {
  const stop = new AbortController()
  const picture = inWorker('drawImage', spec, stop)
  const begun = { picture, waiting: 0, stop }
  drawing.set(key, begun)
  picture.then(
    (file) => {
      drawing.delete(key)
      pictures.set(key, picture, file.length)
    },
    () => {
      if (drawing.get(key) === begun) drawing.delete(key)
    },
  )
  return begun
}
