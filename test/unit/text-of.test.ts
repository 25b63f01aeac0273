// What documents of each kind are read as. Here in one thread; the knowledge API reads them in workers.
import { expect, test } from 'bun:test'
import { documentText, isPlainText, UnreadableDocument } from '../../src/lib/text-of.ts'

const read = (name: string, content: string | Uint8Array, type = '') =>
  documentText(typeof content === 'string' ? new TextEncoder().encode(content) : content, name, type)

test.each([
  ['Markdown by its extension', 'a.MD', '# One\n', '', '# One\n'],
  ['text by its media type', 'notes', 'One', 'text/plain; charset=utf-8', 'One'],
  ['HTML as Markdown', 'a.htm', '<h1>A</h1><p>One <b>two</b>', '', '# A\n\nOne **two**'],
  ['JSON as a paragraph for each item', 'a.json', '[{"a":1,"b":"x"},"two",[3]]', '', 'a: 1\nb: x\n\ntwo\n\n[3]'],
  [
    'CSV as a paragraph for each row',
    'a.csv',
    'name,age\nAda,36\r\n\nAlan,41',
    '',
    'name: Ada\nage: 36\n\nname: Alan\nage: 41',
  ],
  ['a table with other separators', 'a.csv', 'a;b\n"1;""2""\n";3\n', '', 'a: 1;"2"\n\nb: 3'],
  ['a table with an open quote', 'a.csv', 'a,b\n1,"2\n3', '', 'a: 1\nb: 2\n3'],
  [
    'columns of one name, and cells beyond the last',
    'a.csv',
    'a,a,a_1\n1,2,3,4\n',
    '',
    'a: 1\na_1: 2\na_1_1: 3\n__parsed_extra: ["4"]',
  ],
])('document: reads %s', async (_, name, content, type, text) => {
  expect(await read(name, content, type)).toBe(text)
})

test.each([
  ['of an unknown kind', 'a.exe', 'x', '"a.exe" is not one of txt, md, html, csv, json, pdf, docx'],
  ['that is not UTF-8', 'a.txt', Uint8Array.of(0xff), 'it is not text in UTF-8'],
  ['without text', 'a.txt', ' \n', 'it holds no text'],
  ['with broken JSON', 'a.json', '{', 'it is not a readable json: '],
  ['that is nested too deeply', 'a.html', '<div>'.repeat(501), 'it is nested more than 500 levels deep'],
  ['that is no PDF', 'a.pdf', 'x', 'it is not a readable pdf: '],
])('document: rejects one %s', async (_, name, content, message) => {
  const error = await read(name, content).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(UnreadableDocument)
  expect(error.message).toStartWith(message)
})

test('document: end tags and tags without an end do not nest', async () => {
  expect(await read('a.html', `${'<div></div></div>'.repeat(600)}${'<p><br>'.repeat(600)}text`)).toContain('text')
})

test('document: only text and Markdown are their own text', () => {
  expect(['a.txt', 'a.markdown', 'a.html', 'a.csv'].map((name) => isPlainText(name, ''))).toEqual([
    true,
    true,
    false,
    false,
  ])
})
