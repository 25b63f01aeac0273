// A shipped file that is read page by page has the bytes of the file wherever they are requested.
import { afterAll, expect } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { NO_PLACES, writePlaces } from '../../src/build/asset-places.ts'
import { pagedFile } from '../../src/lib/paged-asset.ts'
import { property, test } from '../support/property.ts'

const folder = mkdtempSync(join(tmpdir(), 'understudy-'))
afterAll(() => rmSync(folder, { recursive: true }))

const LENGTH = 40_001
const OFFSET = 1_234
const content = Uint8Array.from({ length: LENGTH }, (_, index) => 1 + ((index * 7 + (index >> 8)) % 255))
const file = join(folder, 'whole')
writeFileSync(file, Buffer.concat([Buffer.alloc(OFFSET, 9), content, Buffer.from(`end ${NO_PLACES} end`)]))

property('paged file: contains the requested bytes across pages', () => {
  const range = fc.tuple(fc.nat(LENGTH), fc.nat(9_000))
  fc.assert(
    fc.property(fc.array(range, { minLength: 1, maxLength: 8 }), (ranges) => {
      const paged = pagedFile(file, OFFSET, LENGTH)
      for (const [start, size] of ranges) {
        const end = Math.min(LENGTH, start + size)
        paged?.need(start, end)
        expect(paged?.bytes.subarray(start, end)).toEqual(content.subarray(start, end))
      }
    }),
  )
})

test('paged file: does not read bytes that were not requested', () => {
  const paged = pagedFile(file, OFFSET, LENGTH)
  paged?.need(LENGTH - 1, LENGTH)
  expect(paged?.bytes.slice(20_000, 20_100)).toEqual(new Uint8Array(100))
  expect(paged?.bytes.at(-1)).toBe(content.at(-1))
})

test('paged file: is missing when the file cannot be read', () => {
  expect(pagedFile(join(folder, 'missing'), 0, 10)).toBeUndefined()
  expect(pagedFile(file, 10_000_000, 10)).toBeUndefined()
})

test('build: writes the places of files and leaves out missing ones', () => {
  const before = readFileSync(file)
  writePlaces(file, { 'dist/here.bin': content, 'dist/missing.bin': new Uint8Array([250, 1, 250, 2, 250]) })
  const after = readFileSync(file)
  const [, places = ''] = /end (.+) end$/s.exec(after.toString('latin1')) ?? []
  expect(JSON.parse(places)).toEqual({ 'dist/here.bin': [OFFSET, LENGTH] })
  expect(after.length).toBe(before.length)
  expect(after.subarray(0, OFFSET + LENGTH).equals(before.subarray(0, OFFSET + LENGTH))).toBe(true)
  expect(() => writePlaces(file, { 'dist/here.bin': content })).toThrow('has no room')
})
