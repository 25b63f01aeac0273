// Documents that are hostile to their readers: deep, broken, packed to a fraction of their size, or one long line; whole ones too.
import { crc32, deflateRawSync, deflateSync } from 'node:zlib'
import { pdfOf } from '../support/documents.ts'
import type { Chance } from './random.ts'

/** A file as a form sends it. */
export interface HostileFile {
  file: string
  type: string
  base64: string
}

interface Entry {
  name: string
  content: string | Buffer
  /** The size that the archive claims for it. */
  claimed?: number
}

/** A ZIP archive of these entries, packed; its directory says what it is told to. */
function zipOf(entries: readonly Entry[]): Buffer {
  const bodies: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content, claimed } of entries) {
    const bytes = Buffer.from(content)
    const packed = deflateRawSync(bytes)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(8, 4)
    fields.writeUInt32LE(crc32(bytes), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(claimed ?? bytes.length, 18)
    fields.writeUInt16LE(name.length, 22)
    bodies.push(Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed)
    const more = Buffer.alloc(14)
    more.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, more, Buffer.from(name))
    offset += 30 + name.length + packed.length
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, listed, end])
}

const OFFICE = 'http://schemas.openxmlformats.org'
const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
const word = (document: string, more: readonly Entry[] = [], claimed?: number): Buffer =>
  zipOf([
    {
      name: '[Content_Types].xml',
      content: `${XML}<Types xmlns="${OFFICE}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
    },
    {
      name: '_rels/.rels',
      content: `${XML}<Relationships xmlns="${OFFICE}/package/2006/relationships"><Relationship Id="r1" Type="${OFFICE}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
    },
    { name: 'word/document.xml', content: document, ...(claimed !== undefined && { claimed }) },
    ...more,
  ])
const body = (inner: string) =>
  `${XML}<w:document xmlns:w="${OFFICE}/wordprocessingml/2006/main"><w:body>${inner}</w:body></w:document>`
const paragraph = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`
const attributes = (many: number) => Array.from({ length: many }, (_, n) => `a${n}="x"`).join(' ')
const entities = `<!DOCTYPE x [<!ENTITY a "${'x'.repeat(50)}">${Array.from({ length: 8 }, (_, n) => `<!ENTITY a${n + 1} "${`&a${n || ''};`.repeat(10)}">`).join('')}]>`

function html(chance: Chance): string {
  const many = chance.pick([3, 400, 9_000])
  return chance.pick([
    () => '<div>'.repeat(many),
    () => '<ol><li>x'.repeat(many),
    () => `${'</p>'.repeat(many)}${'<b>'.repeat(many)}`,
    () => '<table><tr><td>'.repeat(many),
    () => `<p ${attributes(many)}>x`,
    () => `<a href="${'x'.repeat(many * 10)}">y</a>`.repeat(3),
    () => '<'.repeat(many * 10),
    () => `<!--${'-'.repeat(many * 10)}`,
    () => `<script>${'</scrip'.repeat(many)}`,
    () => '&amp;#'.repeat(many),
    () => `<p>${'word '.repeat(many)}</p>`.repeat(4),
    () => `<pre>${' '.repeat(many * 10)}x</pre>`,
    () => `<table>${'<tr><td colspan=99999 rowspan=99999>'.repeat(Math.min(many, 900))}`,
    () => '<svg><foreignObject><math><mi>'.repeat(many),
  ])()
}

function docx(chance: Chance): Buffer {
  const many = chance.pick([3, 300, 3_000])
  return chance.pick([
    () => word(body(paragraph('hello'))),
    () => word(body(paragraph('hello').repeat(many))),
    () => word(body(`${'<w:sdt>'.repeat(many)}${'</w:sdt>'.repeat(many)}`)),
    () => word(body(paragraph('x'.repeat(many * 100)))),
    () => word(`${XML}${entities}${body(paragraph('&a8;')).slice(XML.length)}`),
    () => word(body(`<w:p ${attributes(many)}>${paragraph('x')}</w:p>`)),
    () => word(body(paragraph('x')), [{ name: '../../../tmp/x', content: 'x' }]),
    () => word(body(paragraph('x')), [], 0xffff_fff0),
    () => word(body(paragraph('x')), [], 1),
    () =>
      word(
        body(paragraph('x')),
        Array.from({ length: many }, (_, n) => ({ name: `word/${n}.xml`, content: '' })),
      ),
    () => zipOf([{ name: 'word/document.xml', content: body('') }]),
    () => zipOf([]),
    bomb,
    () => word(body(`<w:tbl>${'<w:tr><w:tc>'.repeat(many)}`)),
  ])()
}

let packedZeros: Buffer | undefined
/** A Word document of 120 kB that unpacks to 120 MB. */
function bomb(): Buffer {
  packedZeros ??= word(body(paragraph('a'.repeat(120_000_000))))
  return packedZeros
}

function pdf(chance: Chance): Buffer {
  const draws = (text: string) => Buffer.from(`BT /F1 12 Tf 20 200 Td ${text} ET`)
  const many = chance.pick([3, 3_000, 60_000])
  const flate = '/Filter /FlateDecode'
  return Buffer.from(
    chance.pick([
      () => pdfOf(draws('(hello) Tj')),
      () => pdfOf(deflateSync(draws(`(${'a'.repeat(many * 4)}) Tj`)), flate),
      () => pdfOf(deflateSync(draws('(a) Tj '.repeat(many))), flate),
      () => pdfOf(deflateSync(Buffer.from('q '.repeat(many))), flate),
      () => pdfOf(draws(`${'['.repeat(many)}(x)${']'.repeat(many)} TJ`)),
      () => pdfOf(deflateSync(deflateSync(Buffer.alloc(many * 300, ' '))), '/Filter [/FlateDecode /FlateDecode]'),
      () => pdfOf(draws('(hello) Tj'), flate),
      () => pdfOf(draws('(hello) Tj'), '/Filter [/LZWDecode /ASCII85Decode /DCTDecode /Nope]'),
      () =>
        Buffer.from(
          Buffer.from(pdfOf(draws('(x) Tj')))
            .toString('latin1')
            .replace('[3 0 R]', '[2 0 R]'),
          'latin1',
        ),
      () =>
        Buffer.from(
          Buffer.from(pdfOf(draws('(x) Tj')))
            .toString('latin1')
            .replace('/Count 1', '/Count 99999999'),
          'latin1',
        ),
      () => Buffer.from(`%PDF-1.4\n1 0 obj${'<<'.repeat(many)}`),
      () => Buffer.from(`%PDF-1.7\n${'xref\n0 1\n'.repeat(many / 3)}startxref\n9\n%%EOF`),
    ])(),
  )
}

function text(chance: Chance): string {
  const many = chance.pick([3, 3_000, 100_000])
  return chance.pick([
    () => 'x'.repeat(many),
    () => `${'a, '.repeat(many)}\n1,2`,
    () => `"${'""'.repeat(many)}`,
    () => `${'a'.repeat(many / 10)},b\n${'1,2\n'.repeat(300)}`,
    () => '\n'.repeat(many),
    () => '# x\n\n'.repeat(many / 10),
    () => '[x]('.repeat(many / 3),
    () => '*'.repeat(many),
    () => `${'>'.repeat(many / 10)} x`,
    () => '['.repeat(many),
    () => `{"a":${'['.repeat(400)}${']'.repeat(400)}}`,
    () => '😀'.repeat(many / 3),
    () => '\u0000\ufeff\u202e'.repeat(many / 3),
    () => 'word '.repeat(many),
  ])()
}

const KINDS: readonly [names: readonly string[], type: string, make: (chance: Chance) => string | Buffer][] = [
  [['a.html', 'a.htm'], 'text/html', html],
  [['a.docx'], 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', docx],
  [['a.pdf'], 'application/pdf', pdf],
  [['a.txt', 'a.md', 'a.csv', 'a.json'], 'text/plain', text],
]
/** One of so many is damaged: cut, a bit turned, or called what it is not. */
const DAMAGE = 4

/** A document that a knowledge base may be asked to read. */
export function hostileFile(chance: Chance): HostileFile {
  const [names, type, make] = chance.pick(KINDS)
  let bytes = Buffer.from(make(chance))
  let file = chance.pick(names)
  if (chance.oneIn(DAMAGE))
    switch (chance.below(4)) {
      case 0:
        bytes = bytes.subarray(0, chance.below(bytes.length + 1))
        break
      case 1:
        for (let count = 0; count < 5 && bytes.length > 0; count++)
          bytes[chance.below(bytes.length)] = chance.below(256)
        break
      case 2:
        bytes = Buffer.concat([bytes, bytes])
        break
      default:
        file = chance.pick(['a.pdf', 'a.docx', 'a.html', 'a.json', 'a', '.docx'])
    }
  return { file, type: chance.oneIn(3) ? '' : type, base64: bytes.toString('base64') }
}

/** How a document is cut, at times into far too much. */
export const hostileCutting = (chance: Chance): object => ({
  chunking_configuration: chance.pick([
    { type: 'default' },
    {
      type: 'advanced',
      chunk_max_characters: chance.pick([100, 1, 100_000]),
      chunk_overlap: chance.pick([0, 99, 99_999]),
    },
  ]),
})

/** A seed whose knowledge bases have such documents. */
export function seedOfDocuments(chance: Chance): object {
  const files = Array.from({ length: 1 + chance.below(2) }, () => hostileFile(chance))
  const named = files.map(({ file, base64 }, index) => [`${index}-${file}`, base64] as const)
  const listed = named.map(([name]) => `{ file: ${JSON.stringify(name)} }`).join(', ')
  const yaml = `knowledge:\n  - { key: of-documents, documents: [${listed}] }\n`
  return { yaml, documents: Object.fromEntries(chance.oneIn(8) ? named.slice(1) : named) }
}
