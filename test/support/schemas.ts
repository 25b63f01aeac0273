// JSON Schemas as real clients send them: zod, pydantic, OpenAI's and LangChain's shapes, hand-written ones of every draft.
import fc from 'fast-check'
import { z } from 'zod'

const node: z.ZodType = z.object({ label: z.string(), children: z.array(z.lazy(() => node)) })
const linked: z.ZodType = z.object({ value: z.int(), next: z.lazy(() => linked).nullable() })
const text = { type: 'string' }
const draft7 = 'http://json-schema.org/draft-07/schema#'
const draft2020 = 'https://json-schema.org/draft/2020-12/schema'

/** What `z.toJSONSchema` makes of everyday zod schemas. */
const fromZod = {
  'a flat object': z.object({ name: z.string(), age: z.int(), admin: z.boolean() }),
  'lengths, ranges and counts': z.object({
    code: z.string().min(3).max(5),
    score: z.number().min(0).max(1),
    tags: z.array(z.string().min(1)).min(2).max(4),
  }),
  formats: z.object({
    email: z.email(),
    url: z.url(),
    id: z.uuid(),
    day: z.iso.date(),
    at: z.iso.datetime(),
    time: z.iso.time(),
    ip: z.ipv4(),
    ip6: z.ipv6(),
    encoded: z.base64(),
    short: z.nanoid(),
    sorted: z.ulid(),
    span: z.iso.duration(),
    block: z.cidrv4(),
  }),
  'optional, nullable, default': z.object({
    nick: z.string().optional(),
    bio: z.string().nullable(),
    unit: z.enum(['celsius', 'fahrenheit']).default('celsius'),
  }),
  'a discriminated union': z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('circle'), radius: z.number().positive() }),
    z.object({ kind: z.literal('square'), side: z.number().positive() }),
  ]),
  'an intersection': z.intersection(z.looseObject({ a: z.string() }), z.looseObject({ b: z.number() })),
  'a record': z.record(z.string(), z.number()),
  'a record of enum keys': z.record(z.enum(['low', 'high']), z.int()),
  'a tuple': z.tuple([z.string(), z.number(), z.boolean()]),
  'a tuple with a rest': z.tuple([z.string()], z.number()),
  'a recursive tree': node,
  'a linked list': linked,
  'text with a pattern': z.object({ sku: z.string().regex(/^[A-Z]{3}-\d{4}$/), prefix: z.string().startsWith('ab') }),
  'steps of five': z.object({ count: z.int().multipleOf(5).gt(7).lt(100) }),
  'anything at all': z.object({ data: z.any(), more: z.unknown() }),
}

/** OpenAI's and LangChain's documented shapes. */
const fromDocumentation = {
  'function parameters: the weather': {
    type: 'object',
    properties: {
      location: { ...text, description: 'The city and state, e.g. San Francisco, CA' },
      unit: { ...text, enum: ['celsius', 'fahrenheit'] },
    },
    required: ['location'],
  },
  'structured output: steps of a solution': {
    type: 'object',
    properties: {
      steps: {
        type: 'array',
        items: {
          type: 'object',
          properties: { explanation: text, output: text },
          required: ['explanation', 'output'],
          additionalProperties: false,
        },
      },
      final_answer: text,
    },
    required: ['steps', 'final_answer'],
    additionalProperties: false,
  },
  'structured output: a recursive user interface': {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['div', 'button', 'form'] },
      label: text,
      children: { type: 'array', items: { $ref: '#' } },
      attributes: {
        type: 'array',
        items: {
          type: 'object',
          properties: { name: text, value: text },
          required: ['name', 'value'],
          additionalProperties: false,
        },
      },
    },
    required: ['type', 'label', 'children', 'attributes'],
    additionalProperties: false,
  },
  'structured output: definitions': {
    type: 'object',
    properties: { steps: { type: 'array', items: { $ref: '#/$defs/step' } }, final: { type: ['string', 'null'] } },
    $defs: {
      step: {
        type: 'object',
        properties: { explanation: text, output: text },
        required: ['explanation', 'output'],
        additionalProperties: false,
      },
    },
    required: ['steps', 'final'],
    additionalProperties: false,
  },
  'no parameters': { type: 'object', properties: {} },
  'an empty schema': {},
  'true as a schema': true,
  'langchain: a tool with draft-07': {
    $schema: draft7,
    type: 'object',
    properties: { query: { ...text, description: 'What to look for' }, limit: { type: 'number', default: 10 } },
    required: ['query'],
    additionalProperties: false,
  },
}

/** What pydantic's `model_json_schema` gives. */
const fromPydantic = {
  'a model with references': {
    $defs: {
      Address: {
        properties: { street: { title: 'Street', ...text }, city: { title: 'City', ...text } },
        required: ['street', 'city'],
        title: 'Address',
        type: 'object',
      },
      Colour: { enum: ['red', 'green'], title: 'Colour', type: 'string' },
    },
    properties: {
      name: { title: 'Name', type: 'string', maxLength: 20 },
      age: { anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }], default: null, title: 'Age' },
      address: { $ref: '#/$defs/Address' },
      colour: { allOf: [{ $ref: '#/$defs/Colour' }], default: 'red' },
      created: { format: 'date-time', title: 'Created', type: 'string' },
    },
    required: ['name', 'address', 'created'],
    title: 'Person',
    type: 'object',
  },
  'a recursive model': {
    $defs: {
      Node: {
        properties: {
          name: { title: 'Name', type: 'string' },
          children: { items: { $ref: '#/$defs/Node' }, title: 'Children', type: 'array' },
          parent: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }], default: null },
        },
        required: ['name'],
        title: 'Node',
        type: 'object',
      },
    },
    $ref: '#/$defs/Node',
  },
  'a discriminated union': {
    $defs: {
      Cat: {
        properties: { pet: { const: 'cat', type: 'string' }, lives: { type: 'integer', maximum: 9 } },
        required: ['pet', 'lives'],
        type: 'object',
      },
      Dog: {
        properties: { pet: { const: 'dog', type: 'string' }, name: text },
        required: ['pet', 'name'],
        type: 'object',
      },
    },
    properties: {
      pet: { discriminator: { propertyName: 'pet' }, oneOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Dog' }] },
    },
    required: ['pet'],
    type: 'object',
  },
  'a dictionary and a set': {
    properties: {
      prices: { additionalProperties: { type: 'number' }, type: 'object', minProperties: 2 },
      flags: { items: { type: 'string' }, type: 'array', uniqueItems: true, minItems: 3 },
      pair: { maxItems: 2, minItems: 2, prefixItems: [{ type: 'integer' }, { type: 'string' }], type: 'array' },
    },
    required: ['prices', 'flags', 'pair'],
    type: 'object',
  },
}

/** Hand-written ones, one keyword or trouble each. */
const byHand = {
  'draft 4: exclusive as a flag': {
    $schema: 'http://json-schema.org/draft-04/schema#',
    type: 'integer',
    minimum: 3,
    exclusiveMinimum: true,
    maximum: 5,
    exclusiveMaximum: true,
  },
  'draft 6: const': { $schema: 'http://json-schema.org/draft-06/schema#', const: { a: [1, 2] } },
  'draft 7: items as a tuple, definitions': {
    $schema: draft7,
    definitions: { count: { type: 'integer', minimum: 2 } },
    type: 'array',
    items: [{ $ref: '#/definitions/count' }, text],
    additionalItems: false,
    minItems: 2,
  },
  'draft 2019-09: dependent keywords': {
    $schema: 'https://json-schema.org/draft/2019-09/schema',
    type: 'object',
    properties: { card: { type: 'string', pattern: '^\\d{16}$' } },
    required: ['card'],
    dependentRequired: { card: ['address'] },
    dependentSchemas: { card: { properties: { address: { type: 'string', minLength: 12 } } } },
  },
  'draft 7: dependencies': { $schema: draft7, required: ['a'], dependencies: { a: ['b'], b: { required: ['c'] } } },
  'missing type': { properties: { title: text, count: { minimum: 5 } }, required: ['title', 'count'] },
  'required without properties': { type: 'object', required: ['first', 'second'] },
  'several types': { type: ['integer', 'string', 'null'], minimum: 4 },
  'a nullable type (OpenAPI)': {
    type: 'object',
    properties: { note: { type: 'string', nullable: true } },
    required: ['note'],
  },
  'all of': {
    allOf: [
      { type: 'object', properties: { a: text }, required: ['a'] },
      { properties: { b: { type: 'integer' } }, required: ['b'] },
    ],
  },
  'all of ranges': { type: 'integer', allOf: [{ minimum: 10 }, { maximum: 12 }, { multipleOf: 3 }] },
  'any of with a base': {
    type: 'object',
    properties: { a: text, b: text },
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
  },
  'one of overlapping numbers': {
    oneOf: [
      { type: 'integer', multipleOf: 2 },
      { type: 'integer', multipleOf: 3 },
    ],
  },
  'one of required keys': {
    type: 'object',
    properties: { a: text, b: text },
    oneOf: [{ required: ['a'] }, { required: ['b'] }],
  },
  'one of alternatives, the first impossible': { type: 'string', oneOf: [{ type: 'integer' }, { enum: ['yes'] }] },
  'if, then, else': {
    type: 'object',
    properties: { country: { enum: ['US', 'NL'] }, code: text },
    required: ['country', 'code'],
    if: { properties: { country: { const: 'US' } } },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: { properties: { code: { pattern: '^[0-9]{5}$' } } },
    else: { properties: { code: { pattern: '^[0-9]{4} [A-Z]{2}$' } } },
  },
  'if with a required consequence': {
    type: 'object',
    properties: { kind: { const: 'paid' } },
    required: ['kind'],
    if: { properties: { kind: { const: 'paid' } } },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: { required: ['amount'], properties: { amount: { type: 'number', exclusiveMinimum: 0 } } },
  },
  'not a type': { not: { type: ['string', 'object'] } },
  'not a value': { type: 'string', enum: ['a', 'b'], not: { const: 'a' } },
  'not with a key': { type: 'object', properties: { a: text, b: text }, not: { required: ['a'] } },
  'pattern and length': { type: 'string', pattern: '^[a-z]+$', minLength: 8, maxLength: 10 },
  'pattern with alternatives': { type: 'string', pattern: '^(foo|bar)-\\w{2,4}@example\\.(com|org)$' },
  'pattern without anchors': { type: 'string', pattern: '\\d{4}' },
  'pattern with a look-ahead': { type: 'string', pattern: '^(?=.*\\d)(?=.*[a-z]).{8,16}$' },
  'format and length': { type: 'string', format: 'email', minLength: 30 },
  'an unknown format': { type: 'string', format: 'phone-number' },
  'numbers between': { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.01 },
  'a step of a cent': { type: 'number', minimum: 1, maximum: 2, multipleOf: 0.01 },
  'large numbers': { type: 'integer', minimum: 1_700_000_000_000 },
  'negative numbers': { type: 'number', maximum: -10.5 },
  'lists that contain': {
    type: 'array',
    items: { type: 'integer' },
    contains: { minimum: 100 },
    minContains: 2,
    minItems: 3,
  },
  'distinct items of few values': { type: 'array', items: { enum: ['a', 'b', 'c'] }, uniqueItems: true, minItems: 3 },
  'distinct objects': {
    type: 'array',
    uniqueItems: true,
    minItems: 3,
    items: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
  },
  'many items': { type: 'array', items: { type: 'number' }, minItems: 50, maxItems: 50 },
  'pattern properties': {
    type: 'object',
    patternProperties: { '^x-': { type: 'integer' } },
    additionalProperties: false,
    minProperties: 2,
  },
  'property names': {
    type: 'object',
    propertyNames: { pattern: '^[a-z]{3}$' },
    minProperties: 3,
    additionalProperties: text,
  },
  'at most one property': {
    type: 'object',
    properties: { a: text, b: text, c: text },
    maxProperties: 1,
    required: ['b'],
  },
  'an example': { type: 'object', properties: { city: text }, example: { city: 'Oslo' } },
  examples: { type: 'string', examples: ['first', 'second'] },
  'an example that is wrong': { type: 'integer', example: 'five', default: 'six', examples: ['seven'] },
  'unevaluated properties': {
    $schema: draft2020,
    type: 'object',
    allOf: [{ properties: { a: text }, required: ['a'] }],
    unevaluatedProperties: false,
  },
  'a reference beside keywords': {
    $defs: { name: text },
    type: 'object',
    properties: { a: { $ref: '#/$defs/name', minLength: 7 } },
    required: ['a'],
  },
  'items beyond a tuple': {
    type: 'array',
    prefixItems: [text],
    unevaluatedItems: { type: 'integer' },
    minItems: 3,
  },
  'a tuple that contains something else': {
    type: 'array',
    prefixItems: [text],
    contains: { type: 'integer' },
    unevaluatedItems: false,
    minItems: 2,
  },
  'a list that must not contain something': {
    type: 'array',
    items: { enum: [1, 2] },
    minItems: 2,
    not: { contains: { const: 1 } },
  },
  'every branch at once': {
    anyOf: [
      { type: 'object', required: ['a'], properties: { a: text } },
      { type: 'object', required: ['b'], properties: { b: text } },
    ],
    unevaluatedProperties: false,
    minProperties: 2,
  },
  'the largest whole numbers': { type: 'integer', minimum: 2 ** 53 - 1, maximum: 2 ** 53 },
  'long and short addresses': {
    type: 'object',
    properties: {
      long: { type: 'string', format: 'email', minLength: 100, maxLength: 120 },
      short: { type: 'string', format: 'email', maxLength: 8 },
      host: { type: 'string', format: 'hostname', minLength: 100 },
      address: { type: 'string', format: 'uri', maxLength: 12 },
      link: { type: 'string', format: 'ipv6', pattern: '^fe80' },
    },
    required: ['long', 'short', 'host', 'address', 'link'],
  },
  'an anchor': {
    $schema: draft2020,
    $defs: { name: { $anchor: 'name', type: 'string' } },
    properties: { a: { $ref: '#name' } },
    required: ['a'],
  },
  'an escaped pointer': {
    $defs: { 'a/b~c%d': { type: 'integer' } },
    properties: { n: { $ref: '#/$defs/a~1b~0c%25d' } },
    required: ['n'],
  },
  'mutual recursion': {
    $defs: {
      a: { type: 'object', properties: { b: { $ref: '#/$defs/b' } } },
      b: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] },
    },
    $ref: '#/$defs/a',
  },
  'an expression, recursive through any of': {
    $defs: {
      expression: {
        anyOf: [
          {
            type: 'object',
            properties: { left: { $ref: '#/$defs/expression' }, right: { $ref: '#/$defs/expression' } },
            required: ['left', 'right'],
          },
          { type: 'number' },
        ],
      },
    },
    $ref: '#/$defs/expression',
  },
  'a filter of a search tool': {
    type: 'object',
    properties: {
      filters: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          properties: {
            field: text,
            operator: { enum: ['=', '<', '>'] },
            value: { anyOf: [text, { type: 'number' }, { type: 'array', items: text }] },
          },
          required: ['field', 'operator', 'value'],
        },
      },
      from: { type: 'string', format: 'date' },
      page: { type: 'integer', minimum: 1, maximum: 500 },
    },
    required: ['filters'],
  },
  'properties named like keywords': {
    type: 'object',
    properties: {
      type: text,
      properties: { type: 'array', items: text },
      required: { type: 'boolean' },
      $ref: text,
      enum: text,
    },
    required: ['type', 'properties', 'required', 'enum'],
  },
  'a property named as an inherited one': {
    type: 'object',
    properties: { constructor: text, toString: { type: 'integer' } },
    required: ['constructor', 'toString'],
  },
}

const under = (source: string, schemas: Record<string, object | boolean>): [string, object | boolean][] =>
  Object.entries(schemas).map(([name, schema]) => [`${source}: ${name}`, schema])

/** [name, schema] of every schema that something satisfies. */
export const satisfiable: [string, object | boolean][] = [
  ...under('zod', Object.fromEntries(Object.entries(fromZod).map(([name, schema]) => [name, z.toJSONSchema(schema)]))),
  ...under('docs', fromDocumentation),
  ...under('pydantic', fromPydantic),
  ...under('by hand', byHand),
]

const nested = (depth: number): object => {
  let schema: object = { type: 'string' }
  for (let level = 0; level < depth; level++) schema = { type: 'object', properties: { a: schema }, required: ['a'] }
  return schema
}
const letters = [...'abcdefghij']
/** Each definition has ten of the next. */
const explosion = {
  $ref: '#/$defs/level0',
  $defs: Object.fromEntries(
    Array.from({ length: 30 }, (_, level) => [
      `level${level}`,
      {
        type: 'object',
        properties: Object.fromEntries(
          letters.map((name) => [name, level === 29 ? text : { $ref: `#/$defs/level${level + 1}` }]),
        ),
        required: letters,
      },
    ]),
  ),
}
/** 10^20 ways, none of which leads anywhere. */
const manyWays = {
  allOf: Array.from({ length: 20 }, (_, group) => ({
    anyOf: letters.map((letter) => ({ required: [`${letter}${group}`] })),
  })),
  type: 'object',
  maxProperties: 19,
}
const tooDeep = 'the schema is nested too deeply, or leads back to itself'
const tooLarge = 'the schema is too large: a sample takes more work than is done for one'
const malformedType =
  'malformed schema: Instance does not match any of ["string","integer","number","boolean","object","array","null"].'

/** [name, schema, where and why nothing can be made]. */
export const impossible: [string, unknown, { path: string; message: string }][] = [
  ['false', false, { path: '', message: 'the schema allows nothing here' }],
  [
    'no schema',
    null,
    { path: '', message: 'malformed schema: Instance type "null" is invalid. Expected "object", "boolean".' },
  ],
  ['an unknown type', { properties: { a: { type: 'text' } } }, { path: '/properties/a/type', message: malformedType }],
  [
    'a negative step',
    { items: { multipleOf: -1 } },
    { path: '/items/multipleOf', message: 'malformed schema: -1 is less than 0.' },
  ],
  [
    'required as a flag',
    { properties: { a: { required: true } } },
    {
      path: '/properties/a/required',
      message: 'malformed schema: Instance type "boolean" is invalid. Expected "array".',
    },
  ],
  ['no choices', { enum: [] }, { path: '/enum', message: 'malformed schema: Array has too few items (0 < 1).' }],
  [
    'a broken pattern',
    { properties: { a: { pattern: '(' } } },
    { path: '/properties/a/pattern', message: 'a pattern cannot be read: Invalid regular expression: missing )' },
  ],
  [
    'a range that is empty',
    { type: 'integer', minimum: 5, maximum: 3 },
    { path: '/minimum', message: 'no number is at least 5 and at most 3' },
  ],
  [
    'no whole number between',
    { type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 2 },
    { path: '/exclusiveMaximum', message: '2 is greater than or equal to 2.' },
  ],
  [
    'no multiple between',
    { type: 'integer', minimum: 1, maximum: 5, multipleOf: 7 },
    { path: '/multipleOf', message: 'no multiple of 7 is from 1 to 5' },
  ],
  [
    'lengths that contradict',
    { type: 'string', minLength: 5, maxLength: 2 },
    { path: '/minLength', message: 'no string has at least 5 and at most 2 characters' },
  ],
  [
    'a pattern that is too long',
    { type: 'string', pattern: '^a{3}$', maxLength: 2 },
    { path: '/pattern', message: 'no text of 0 to 2 characters was found that matches "^a{3}$"' },
  ],
  [
    'types that contradict',
    { allOf: [{ type: 'string' }, { type: 'integer' }] },
    { path: '/allOf/1/type', message: 'nothing is both string and integer' },
  ],
  [
    'constants that contradict',
    { allOf: [{ const: 1 }, { const: 2 }] },
    { path: '/allOf/1/const', message: 'Instance does not match 2.' },
  ],
  [
    'choices of another type',
    { type: 'object', properties: { a: { type: 'string', enum: [1] } }, required: ['a'] },
    { path: '/properties/a/type', message: 'Instance type "number" is invalid. Expected "string".' },
  ],
  [
    'an inner any of',
    {
      type: 'object',
      properties: { x: { type: 'integer', anyOf: [{ type: 'string' }, { minimum: 4, maximum: 3 }] } },
      required: ['x'],
    },
    { path: '/properties/x/anyOf/0/type', message: 'nothing is both integer and string' },
  ],
  [
    'one of twice the same',
    { oneOf: [text, text] },
    { path: '/oneOf', message: 'Instance does not match exactly one subschema (2 matches).' },
  ],
  ['the opposite of everything', { not: {} }, { path: '/not', message: 'Instance matched "not" schema.' }],
  [
    'required but not allowed',
    { type: 'object', required: ['a'], additionalProperties: false },
    { path: '/required', message: 'the property "a" is required, but not allowed' },
  ],
  [
    'too few properties allowed',
    { type: 'object', required: ['a', 'b'], maxProperties: 1 },
    { path: '/maxProperties', message: 'no object has at least 2 and at most 1 properties' },
  ],
  [
    'too few different items',
    { type: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true, minItems: 3 },
    { path: '/uniqueItems', message: 'only 2 different items were found, and there must be 3' },
  ],
  [
    'an item that cannot be',
    { type: 'array', items: text, contains: { type: 'integer' } },
    { path: '/contains', message: 'Array does not contain item matching schema.' },
  ],
  ['a reference to nothing', { $ref: '#/$defs/x' }, { path: '', message: 'the reference "#/$defs/x" leads nowhere' }],
  [
    'a reference to elsewhere',
    { items: { $ref: 'https://example.com/a.json' }, type: 'array', minItems: 1 },
    { path: '/items', message: 'the reference "https://example.com/a.json" leads nowhere in this schema' },
  ],
  ['a reference to itself', { $ref: '#' }, { path: '', message: 'the reference "#" leads back to itself without end' }],
  [
    'recursion that cannot end',
    { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
    { path: '/properties/a', message: 'the reference "#" leads back to itself without end' },
  ],
  [
    'a list that is too large',
    { type: 'array', minItems: 1e9 },
    { path: '/minItems', message: 'the list is too large: it has at least 1000000000 members, a sample at most 1000' },
  ],
  [
    'an object that is too large',
    { type: 'object', minProperties: 1e9 },
    {
      path: '/minProperties',
      message: 'the object is too large: it has at least 1000000000 members, a sample at most 1000',
    },
  ],
  [
    'a string that is too large',
    { type: 'string', minLength: 1e9 },
    {
      path: '/minLength',
      message: 'the string is too large: minLength is 1000000000, a sample has at most 100000 characters',
    },
  ],
  [
    'a pattern that is too large',
    { type: 'string', pattern: '^(a{1000}){1000}$' },
    {
      path: '/pattern',
      message: 'the pattern is too large: a text has at least 1000000 characters, a sample at most 100000',
    },
  ],
  ['definitions that explode', explosion, { path: '', message: tooLarge }],
  ['more ways than can be tried', manyWays, { path: '', message: tooLarge }],
  [
    'lists of lists of lists',
    { type: 'array', minItems: 900, items: { type: 'array', minItems: 900, items: { type: 'array', minItems: 900 } } },
    { path: '', message: tooLarge },
  ],
  ['nesting without end', nested(50_000), { path: '', message: tooDeep }],
]

const bounds = (low: number, high: number) =>
  fc
    .tuple(fc.integer({ min: low, max: high }), fc.integer({ min: low, max: high }))
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
const someText = fc.constantFrom('name', 'city', 'count', 'isOpen', 'tags', 'a b', '$x', 'Größe')

/** Schemas that something satisfies: nested objects, lists, choices, ranges and lengths. */
export const randomSchema: fc.Arbitrary<object> = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom({ type: 'boolean' }, { type: 'null' }, {}),
    bounds(-1000, 1000).map(([minimum, maximum]) => ({ type: 'integer', minimum, maximum })),
    bounds(-50, 50).map(([minimum, maximum]) => ({ type: 'number', minimum, exclusiveMaximum: maximum + 0.25 })),
    bounds(1, 60).map(([multipleOf, minimum]) => ({ type: 'integer', multipleOf, minimum })),
    bounds(0, 40).map(([minLength, maxLength]) => ({ type: 'string', minLength, maxLength })),
    fc
      .constantFrom('date', 'date-time', 'email', 'uri', 'uuid', 'ipv4', 'hostname')
      .map((format) => ({ type: 'string', format })),
    fc.constantFrom('^[A-Z]{3}$', '^\\d{2,4}-x$', '^(a|b)+$', '[0-9]').map((pattern) => ({ type: 'string', pattern })),
    fc
      .uniqueArray(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { minLength: 1, maxLength: 4 })
      .map((values) => ({ enum: values })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc.tuple(tie('schema'), tie('schema')).map(([some, other]) => ({ anyOf: [{ allOf: [some, other] }, some] })),
    fc.tuple(tie('schema'), tie('schema'), tie('schema')).map(([a, b, c]) => ({ if: a, else: c, anyOf: [b, {}] })),
    fc
      .tuple(tie('schema'), bounds(0, 5))
      .map(([items, [minItems, maxItems]]) => ({ type: 'array', items, minItems, maxItems })),
    fc
      .array(tie('schema'), { minLength: 1, maxLength: 3 })
      .map((prefixItems) => ({ type: 'array', prefixItems, items: false })),
    fc
      .record({
        properties: fc.dictionary(someText, tie('schema'), { maxKeys: 4 }),
        required: fc.uniqueArray(fc.integer({ min: 0, max: 3 })),
        open: fc.boolean(),
      })
      .map(({ properties, required, open }) => ({
        type: 'object',
        properties,
        required: Object.keys(properties).filter((_, index) => required.includes(index)),
        ...(open ? { minProperties: 2 } : { additionalProperties: false }),
      })),
  ),
})).schema

/** Whether a schema is refused for what it is, not for what it asks: what is wrong with it says so. */
export const isMalformed = ({ message }: { message: string }): boolean =>
  /^(malformed schema|the reference .* leads nowhere$)/.test(message)
