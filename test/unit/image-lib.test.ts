import { expect, test } from 'bun:test'
import sharp from 'sharp'
import { type ImageFormat, type ImageSpec, renderImage } from '../../src/lib/media/image.ts'

const wish: ImageSpec = { width: 256, height: 256, format: 'png', transparent: false, key: 'a red fox' }

/** Four bytes a pixel, decoded by a library that did not encode it. */
const decode = async (spec: Partial<ImageSpec>) =>
  await sharp(await renderImage({ ...wish, ...spec }))
    .ensureAlpha()
    .raw()
    .toBuffer()

const digest = (bytes: Uint8Array) => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** Mean distance of two pictures' bytes, 0 to 255. */
const distance = (one: Uint8Array, other: Uint8Array) =>
  one.reduce((sum, byte, at) => sum + Math.abs(byte - (other[at] ?? Number.NaN)), 0) / one.length

/** All values of a byte. */
const SHADES = [...Array(256).keys()]

const table: [ImageFormat, number, number, boolean, boolean][] = [
  // format, width, height, transparent is asked, alpha is there
  ['png', 256, 256, false, false],
  ['png', 1024, 1792, false, false],
  ['png', 1536, 1024, true, true],
  ['jpeg', 1792, 1024, false, false],
  ['jpeg', 512, 512, true, false],
  ['webp', 1024, 1024, false, false],
  ['webp', 1024, 1536, true, true],
]

test.each(table)(
  'renderImage: renders %s of %i x %i, transparent: %p',
  async (format, width, height, transparent, hasAlpha) => {
    const bytes = await renderImage({ ...wish, format, width, height, transparent })
    expect(await sharp(bytes).metadata()).toMatchObject({ format, width, height, hasAlpha })
    expect(bytes.length).toBeLessThan(format === 'jpeg' ? 250_000 : 60_000)
    const alpha = await sharp(bytes).ensureAlpha().extractChannel('alpha').raw().toBuffer()
    const alphaAt = (x: number, y: number) => alpha[y * width + x]
    const corners = [alphaAt(0, 0), alphaAt(width - 1, 0), alphaAt(0, height - 1), alphaAt(width - 1, height - 1)]
    expect(corners).toEqual(Array(4).fill(hasAlpha ? 0 : 255))
    expect(alphaAt(width / 2, height / 2)).toBe(255)
    if (hasAlpha) expect(SHADES.filter((shade) => alpha.includes(shade)).length).toBeGreaterThan(4)
    else expect(alpha.equals(Buffer.alloc(width * height, 255))).toBe(true)
  },
)

const formats: ImageFormat[] = ['png', 'jpeg', 'webp']

test.each(formats)(
  'renderImage: gives the same %s for the same input and another picture for another key',
  async (format) => {
    const first = await renderImage({ ...wish, format })
    expect(digest(await renderImage({ ...wish, format }))).toBe(digest(first))
    const keys = Array.from({ length: 6 }, (_, number) => `fox ${number}`)
    const pictures = await Promise.all(keys.map(async (key) => digest(await decode({ format, key }))))
    expect(new Set(pictures).size).toBe(keys.length)
  },
)

test('renderImage: keeps the picture of a key from version to version', async () => {
  const pixels = await decode({})
  expect(digest(pixels)).toBe('ea6c1f544611bfef4c84f1ffbd67acf22afe60ded0b0b81a5a4209fe682d4c3d')
})

test.each(['jpeg', 'webp'] as const)(
  'renderImage %s: makes a smaller and coarser file with a lower compression value',
  async (format) => {
    const original = await decode({})
    const values = [0, 25, 50, 75, 100]
    const sizes: number[] = []
    const errors: number[] = []
    for (const compression of values) {
      sizes.push((await renderImage({ ...wish, format, compression })).length)
      errors.push(distance(original, await decode({ format, compression })))
    }
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b))
    expect(sizes[0]).toBeLessThan((sizes[4] ?? 0) / 2)
    expect(errors).toEqual(errors.toSorted((a, b) => b - a))
    expect(errors[4]).toBeLessThan(2)
    expect((await renderImage({ ...wish, format })).length).toBe(sizes[4] ?? 0)
  },
)

test('renderImage png: has no quality to lose', async () => {
  expect(await renderImage({ ...wish, compression: 10 })).toEqual(await renderImage(wish))
})
