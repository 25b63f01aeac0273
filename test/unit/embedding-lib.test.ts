// Vectors of texts: similar texts are near each other, in several languages and at every length.
import { expect, test } from 'bun:test'
import { embed, shorten } from '../../src/lib/embedding.ts'

const cosine = (one: Float32Array, other: Float32Array): number =>
  one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0)

const triples: [text: string, paraphrase: string, unrelated: string][] = [
  ['How do I reset my password?', 'I forgot my password and need to reset it', 'How do I get to the airport?'],
  ['The cat sat on the mat', 'A cat was sitting on a mat', 'The dog ran to the park'],
  ['Where can I track my parcel?', 'Tracking the parcel that I ordered', 'Where can I park my car?'],
  ['Cancel my subscription please', 'I would like to cancel the subscription', 'How tall is the Eiffel Tower?'],
  ['The invoice was paid twice', 'We have been charged twice for one invoice', 'The room was cleaned yesterday'],
  ['Refunds take five working days', 'You will get your refund within five days', 'The football team won the final'],
  ['Best restaurants in Berlin', 'Which restaurant in Berlin is good?', 'Best books for a long flight'],
  ['Heavy rain is expected tomorrow', 'Tomorrow it will rain heavily', 'The museum opens a new exhibition'],
  [
    'The server crashed: out of memory',
    'Our servers ran out of memory and crashed',
    'She plays the violin beautifully',
  ],
  ['Does the phone support wireless charging?', 'Can it be charged wirelessly?', 'Does the hotel include breakfast?'],
  [
    'Wie kann ich mein Passwort zurücksetzen?',
    'Passwort vergessen, bitte zuruecksetzen',
    'Wie kann ich Sie erreichen?',
  ],
  ['Die Rechnung ist noch nicht bezahlt', 'Unbezahlte Rechnungen', 'Das Wetter ist noch nicht schön'],
  ['¿Cómo cancelo mi suscripción?', 'QUIERO CANCELAR LA SUSCRIPCION', '¿Cómo llego al museo?'],
  ['¿Dónde está mi pedido?', 'No sé dónde están mis pedidos', '¿Dónde está la estación?'],
  ['我想重置密码', '如何重置我的密码', '今天天气很好'],
]

test.each([64, 256, 1536, 3072])(
  'embed: places paraphrases nearer than unrelated texts in %d dimensions',
  (dimensions) => {
    const wrong = triples.filter(([text, paraphrase, unrelated]) => {
      const [at, near, far] = [text, paraphrase, unrelated].map((one) => embed(one, dimensions))
      return at && near && far && cosine(at, near) <= cosine(at, far) + 0.1
    })
    expect(wrong).toEqual([])
  },
)

const documents = [
  'Passwords can be reset from the sign-in page: choose "Forgot password" and follow the link in the mail.',
  'Orders over 50 euros are shipped free of charge. Delivery within the country takes two to four days.',
  'You may return any article within 30 days. The refund goes to the card you paid with.',
  'Invoices are issued on the first day of each month and can be downloaded as PDF under Billing.',
  'Two-factor authentication adds a second step at sign-in: a code from an app on your phone.',
  'The API allows 600 requests a minute. Above that limit it answers with status 429.',
  'Our support team is available from Monday to Friday between nine and six, by chat or telephone.',
  'To delete your account, open Settings, choose Privacy and confirm with your password. All data is erased.',
  'Team members are invited by mail; an administrator decides on their roles and permissions.',
  'Webhooks notify your server of events. Every message is signed, so that you can verify its sender.',
]
const questions = [
  'I forgot my password, how can I reset it?',
  'How long does delivery take and is shipping free?',
  'Can I return an article and get a refund?',
  'Where do I download my monthly invoice?',
  'How do I set up two-factor authentication?',
  'What is the limit of API requests per minute?',
  'When can I reach the support team by phone?',
  'How do I delete my account and all my data?',
  'How can an administrator invite new members to the team?',
  'How do I verify that a webhook message is signed?',
]

test.each([256, 1536])('embed: finds the documents of questions in %d dimensions', (dimensions) => {
  const vectors = documents.map((document) => embed(document, dimensions))
  const found = questions.map((question) => {
    const scores = vectors.map((vector) => cosine(vector, embed(question, dimensions)))
    return scores.indexOf(Math.max(...scores))
  })
  const right = found.filter((document, question) => document === question)
  expect(right.length).toBeGreaterThanOrEqual(9)
})

test.each([
  ['one letter', 'x'],
  ['two symbols', '!?'],
  ['an emoji', '🙂'],
  ['a space', ' '],
  ['accents', 'naïve Straße'],
  ['a long text', 'word '.repeat(2000)],
])('embed: returns the same unit vector of every length for %s', (_, text) => {
  for (const dimensions of [1, 2, 31, 256, 1536]) {
    const vector = embed(text, dimensions)
    expect(vector).toHaveLength(dimensions)
    expect(cosine(vector, vector)).toBeCloseTo(1, 5)
    expect(embed(text, dimensions)).toEqual(vector)
  }
})

test('shorten: returns the vector for fewer dimensions', () => {
  const long = embed('How do I reset my password?', 3072)
  const short = embed('How do I reset my password?', 100)
  expect(shorten(long, 100).every((value, at) => Math.abs(value - (short[at] ?? 0)) < 1e-6)).toBe(true)
})

test.each([
  ['Straße', 'STRASSE'],
  ['Café', 'cafe'],
  ['nai\u0308ve', 'na\u00efve'],
])('embed: treats %j and %j as the same text', (one, other) => {
  expect(cosine(embed(one, 256), embed(other, 256))).toBeCloseTo(1, 5)
})
