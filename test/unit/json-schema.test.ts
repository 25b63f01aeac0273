import { describe, expect } from 'bun:test'
import fc from 'fast-check'
import { SchemaError, sampleOf, violations } from '../../src/lib/json-schema/index.ts'
import { judgement } from '../support/ajv.ts'
import { property, runs, test } from '../support/property.ts'
import { impossible, randomSchema, satisfiable } from '../support/schemas.ts'

const failureOf = async (schema: unknown) => {
  try {
    return { sample: await sampleOf(schema as object, 'key') }
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    return { path: error.path, message: error.message }
  }
}

describe('schema samples', () => {
  test.each(satisfiable)('satisfy %s', async (_, schema) => {
    for (const key of ['first', 'second', 'third']) {
      const sample = await sampleOf(schema, key)
      expect({ sample, errors: judgement(schema, sample) }).toEqual({ sample, errors: [] })
      expect(await violations(schema, JSON.stringify(sample))).toEqual([])
    }
  })

  property('satisfy any random schema', async () => {
    await fc.assert(
      fc.asyncProperty(randomSchema, fc.string(), async (schema, key) => {
        const sample = await sampleOf(schema, key)
        expect({ sample, errors: judgement(schema, sample) }).toEqual({ sample, errors: [] })
      }),
      { seed: 7, numRuns: runs(120) },
    )
  })

  test('depend only on the schema and the key', async () => {
    const { random } = Math
    const samples = async () => {
      const all: string[] = []
      for (const [, schema] of satisfiable) all.push(JSON.stringify(await sampleOf(schema, 'key')))
      return all
    }
    const before = await samples()
    Math.random = () => {
      throw new Error('chance that no seed decides')
    }
    try {
      expect(await samples()).toEqual(before)
    } finally {
      Math.random = random
    }
  })

  test('differ from key to key', async () => {
    const schema = {
      type: 'object',
      properties: { size: { type: 'integer' }, colour: { enum: ['red', 'green', 'blue'] } },
    }
    const samples = await Promise.all([...'abcdefghij'].map((key) => sampleOf(schema, key)))
    expect(new Set(samples.map((sample) => JSON.stringify(sample))).size).toBeGreaterThan(3)
  })

  test('read naturally', async () => {
    const text = { type: 'string' }
    const schema = {
      type: 'object',
      properties: {
        userEmail: { type: 'string', format: 'email' },
        final_answer: text,
        capacity: { type: 'integer', minimum: 0 },
        tags: { type: 'array', items: text },
        due: { type: 'string', format: 'date' },
        limit: { type: 'integer', default: 20 },
        unit: { type: 'string', examples: ['metre', 'foot'] },
      },
    }
    expect(await sampleOf(schema, 'key')).toEqual({
      userEmail: 'alex@example.com',
      final_answer: 'final answer',
      capacity: expect.any(Number),
      tags: ['tag', 'tag 2'],
      due: '2026-01-01',
      limit: 20,
      unit: 'metre',
    })
  })

  test('leave the schema unchanged', async () => {
    for (const [, schema] of satisfiable) {
      const before = JSON.stringify(schema)
      await sampleOf(schema, 'key')
      expect(JSON.stringify(schema)).toBe(before)
    }
  })
})

test.each(impossible)('schema without a sample: fails with a reason: %s', async (_, schema, failure) => {
  expect(await failureOf(schema)).toEqual(failure)
})

describe('schema violations', () => {
  const person = {
    type: 'object',
    properties: { age: { type: 'integer', minimum: 0 }, role: { enum: ['cook'] } },
    required: ['name'],
    additionalProperties: false,
  }
  const draft4 = { $schema: 'http://json-schema.org/draft-04/schema#', minimum: 3, exclusiveMinimum: true }
  const cases: [string, object | boolean, unknown, string[]][] = [
    [
      'every problem at once',
      person,
      { age: 'ten', role: 'king', more: 1 },
      [
        'Instance does not have required property "name".',
        '/age: Instance type "string" is invalid. Expected "integer".',
        '/role: Instance does not match any of ["cook"].',
        'Property "more" does not match additional properties schema.',
      ],
    ],
    ['an exclusive limit of draft 4', draft4, 3, ['3 is less than 3.']],
    [
      'a nested place',
      { items: { $ref: '#/$defs/a' }, $defs: { a: { minLength: 2 } } },
      ['ab', 'a'],
      ['/1: String is too short (1 < 2).'],
    ],
    ['the schema false', false, 1, ['False boolean schema.']],
    ['nothing for null where nullable', { type: 'string', nullable: true }, null, []],
    ['a property that objects inherit', { properties: { constructor: { type: 'string' } } }, {}, []],
    ['an escape unknown in unicode mode', { pattern: '^\\d\\-\\d$' }, '1-2', []],
    [
      'a sibling of a reference before 2019',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        $ref: '#/definitions/a',
        maxLength: 1,
        definitions: { a: { type: 'string' } },
      },
      'abc',
      [],
    ],
  ]
  test.each(cases)('report %s', async (_, schema, value, problems) => {
    expect(await violations(schema, JSON.stringify(value))).toEqual(problems)
  })

  test('are an error for a malformed schema', async () => {
    expect(violations({ type: 'text' }, '1')).rejects.toThrow('malformed schema')
  })
})
