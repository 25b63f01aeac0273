// The executable for Intel Macs must not keep the signature of the bare runtime: macOS stops a program whose signature is wrong.
import { expect, test } from 'bun:test'
import { withoutSignature } from '../../src/build/mach-o.ts'

const SEGMENT = 0x19
const SIGNATURE = 0x1d
const LINKEDIT_AT = 1_000
const SIGNED_AT = 1_600
const END = 2_000

/** A program of 2000 bytes with one segment of 1000 at its end, whose last 400 are the signature when there is one. */
function program(signed: boolean): Uint8Array {
  const bytes = new Uint8Array(END).fill(7)
  const view = new DataView(bytes.buffer)
  const words = (at: number, values: number[]) => {
    for (const [index, value] of values.entries()) view.setUint32(at + 4 * index, value, true)
  }
  bytes.fill(0, 0, 32 + 72 + 16)
  words(0, [0xfeedfacf, 0x01000007, 3, 2, signed ? 2 : 1, signed ? 88 : 72, 0, 0])
  words(32, [SEGMENT, 72])
  view.setBigUint64(32 + 40, BigInt(LINKEDIT_AT), true)
  view.setBigUint64(32 + 48, BigInt(END - LINKEDIT_AT), true)
  if (signed) words(32 + 72, [SIGNATURE, 16, SIGNED_AT, END - SIGNED_AT])
  return bytes
}

test('Mach-O signature: is removed with its load command and its part of the last segment', () => {
  const signed = program(true)
  const bytes = withoutSignature(signed)
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  expect(bytes.length).toBe(SIGNED_AT)
  expect([view.getUint32(16, true), view.getUint32(20, true)]).toEqual([1, 72])
  expect(view.getBigUint64(32 + 48, true)).toBe(BigInt(SIGNED_AT - LINKEDIT_AT))
  expect(bytes.subarray(32 + 72, 32 + 88)).toEqual(new Uint8Array(16))
  expect(bytes.subarray(32 + 88)).toEqual(signed.subarray(32 + 88, SIGNED_AT))
})

test('Mach-O program without a signature: is unchanged', () => {
  expect(withoutSignature(program(false))).toEqual(program(false))
})
