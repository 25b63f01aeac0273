// Small real documents, made here so that no test file is a binary nobody can read.
import JSZip from 'jszip'

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

/** A PDF of one page with one line. */
export const pdf = (line: string) => pdfOf(bytes(`BT /F1 12 Tf 20 200 Td (${line}) Tj ET`))

/** A PDF of one page with this content, packed as `filter` says. */
export function pdfOf(content: Uint8Array, filter = ''): Uint8Array<ArrayBuffer> {
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    [`<</Length ${content.length}${filter}>>stream\n`, content, '\nendstream'],
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ]
  const body = objects.flatMap((object, index) => [`${index + 1} 0 obj`, object, 'endobj\n'].flat())
  const parts = ['%PDF-1.4\n', ...body, 'trailer<</Root 1 0 R>>\n']
  return new Uint8Array(Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))))
}

/** A Word document of one paragraph. */
export const docx = (text: string) => docxOf(`<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`)

/** A Word document with this body. */
export async function docxOf(body: string): Promise<Uint8Array<ArrayBuffer>> {
  const xml = (inner: string) => bytes(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>${inner}`)
  const office = 'http://schemas.openxmlformats.org'
  const parts = {
    '[Content_Types].xml': xml(
      `<Types xmlns="${office}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
    ),
    '_rels/.rels': xml(
      `<Relationships xmlns="${office}/package/2006/relationships"><Relationship Id="r1" Type="${office}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
    ),
    'word/document.xml': xml(
      `<w:document xmlns:w="${office}/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`,
    ),
  }
  const zip = new JSZip()
  for (const [name, part] of Object.entries(parts)) zip.file(name, part)
  const options = { type: 'arraybuffer', compression: 'DEFLATE', compressionOptions: { level: 1 } } as const
  return new Uint8Array(await zip.generateAsync(options))
}
